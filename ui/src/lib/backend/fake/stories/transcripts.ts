/** Stories of transcripts: one that streams, a long one, a Chinese one, and one with everything there is. */
import type { Item } from '$lib/contract';
import {
  agentSaid,
  item,
  noUsage,
  sampleRequest,
  STORY_NOW,
  text,
  textPart,
  toolCall,
  userSaid,
} from '../samples';
import type { World } from '../world';
import { base } from './base';

export function streaming(): World {
  const world = base();
  world.updateHeader(
    1,
    {},
    { state: { kind: 'running' }, waiting: 0, waiting_kind: null, activity: { kind: 'writing' } },
  );
  world
    .of(1)
    .items.push(
      agentSaid('live', 'First paragraph, finished.\n\nSecond paragraph, finished.\n\nThird', true),
    );
  return world;
}

export function long(): World {
  const world = base();
  const session = world.of(1);
  const many: Item[] = [];
  for (let at = 0; at < 10_000; at += 1) {
    const id = `n${at}`;
    if (at % 4 === 0) many.push(userSaid(id, `Question ${at}: what about step ${at}?`));
    else if (at % 4 === 1)
      many.push(
        agentSaid(id, `## Step ${at}\n\nSome **bold** words, a list:\n\n- one\n- two\n\nand \`code\`.`),
      );
    else if (at % 4 === 2)
      many.push(
        toolCall(id, {
          name: 'shell',
          subject: `make step-${at}`,
          command: `make step-${at}`,
          output: [textPart(`built ${at}\nok`)],
        }),
      );
    else many.push(item(id, { kind: 'thought', text: text('hm'), active: false, took_ms: 1500 }));
  }
  session.items = many;
  return world;
}

export function chinese(): World {
  const world = base();
  const session = world.of(2);
  session.items = [
    userSaid('z1', '帮我查一下东京今天的天气，写一份简报发给团队。'),
    item('z2', {
      kind: 'thought',
      text: text('先查询天气接口，再整理成简报。'),
      active: false,
      took_ms: 2400,
    }),
    toolCall('z3', {
      name: 'weather',
      source: 'amap',
      subject: '东京',
      input: text('{\n  "city": "东京"\n}'),
      output: [textPart('{"气温":"18℃","天气":"多云转晴","湿度":"46%"}')],
    }),
    agentSaid(
      'z4',
      '## 东京天气简报\n\n今天**多云转晴**，最高气温 18℃，体感舒适。\n\n| 时段 | 天气 | 气温 |\n|---|---|---|\n| 上午 | 多云 | 14℃ |\n| 下午 | 晴 | 18℃ |\n| 晚上 | 晴 | 12℃ |\n\n- 建议带一件薄外套\n- 紫外线较弱',
    ),
  ];
  session.requests = [
    sampleRequest({
      id: 'call-z',
      session: 2,
      server: 'srv-weather',
      server_name: 'Weather desk',
      tool: 'send_mail',
      command: null,
      arguments: text(
        '{\n  "to": "团队@example.com",\n  "subject": "东京天气简报",\n  "body": "今天多云转晴，最高气温 18℃。"\n}',
      ),
      work_dir: null,
      lines: 5,
    }),
    sampleRequest({
      id: 'call-z2',
      session: 2,
      server: 'srv-weather',
      server_name: 'Weather desk',
      tool: 'shell',
      command: text('date'),
      digest: 'z2',
      asked_at: STORY_NOW,
    }),
  ];
  return world;
}

/** Every kind of item, and everything a header can say. */
export function everything(): World {
  const world = base();
  const session = world.of(1);
  world.payloads.set('h-more', 'x'.repeat(40_000));
  world.updateHeader(
    1,
    {
      goals: [
        {
          id: 'g1',
          description: 'All tests pass',
          rubric: 'pytest exits 0',
          iteration: 2,
          verdict: 'needs_revision',
          explanation: 'One test fails.',
          evaluating: false,
        },
      ],
      threads: [{ id: 'sthr_1', name: 'reviewer', state: { kind: 'running' } }],
      usage: { ...noUsage, credits: '4.63', cost: '0.12 USD' },
      stop: { kind: 'requested', at: STORY_NOW },
    },
    { state: { kind: 'stopping' }, waiting: 0, waiting_kind: null },
  );
  session.items = [
    userSaid('e1', 'Show me everything you can show.'),
    agentSaid(
      'e2',
      '# Report\n\nA [link](https://example.com/a), a [bad link](javascript:alert(1)), an image ![logo](https://tracker.example/pixel.png) and <b>html</b>.\n\n1. first\n2. second\n   - nested\n\n- [x] done\n- [ ] open\n\n> quoted words\n\n```py\nprint("hello")\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n---\n\n~~gone~~ & *here*.',
    ),
    toolCall('e3', {
      name: 'shell',
      subject: 'npm test',
      command: 'npm test',
      state: { kind: 'failed' },
      output: [textPart('\u001B[31mFAIL\u001B[0m users.test.ts\n\u001B[32mPASS\u001B[0m db.test.ts\n')],
    }),
    toolCall('e4', {
      name: 'read_file',
      subject: 'README.md',
      input: text('{\n  "path": "README.md"\n}'),
      output: [{ kind: 'text', text: 'x'.repeat(200), chars: 40_000, handle: 'h-more' }],
    }),
    toolCall('e5', {
      name: 'rm',
      command: 'rm -rf build',
      subject: 'rm -rf build',
      state: { kind: 'denied', reason: 'not that folder' },
    }),
    toolCall('e6', {
      name: 'sleep',
      command: 'sleep 100',
      subject: 'sleep 100',
      state: { kind: 'running' },
      ended_at: null,
      started_at: STORY_NOW - 8000,
    }),
    item('e7', {
      kind: 'notice',
      level: 'warning',
      code: 'error_retrying',
      text: 'overloaded',
      detail: text('{"status":529}'),
    }),
    item('e8', { kind: 'notice', level: 'error', code: 'error_fatal', text: 'model failed', detail: null }),
    item('e9', { kind: 'notice', level: 'info', code: 'too_large', text: 'evt_9, 80 MiB', detail: null }),
    item('e10', { kind: 'marker', what: 'gap', detail: 'the cursor had expired', recovered: false }),
    item('e11', { kind: 'marker', what: 'interrupted' }),
    item('e12', { kind: 'marker', what: 'thread_started', name: 'reviewer' }),
    item('e13', {
      kind: 'marker',
      what: 'goal',
      id: 'g1',
      description: 'All tests pass',
      verdict: null,
      iteration: null,
      explanation: null,
    }),
    item('e14', {
      kind: 'artifact',
      file_id: 'file_1',
      name: 'report.pdf',
      bytes: 123_456,
      media_type: 'application/pdf',
    }),
    item('e15', { kind: 'unknown', what: 'agent.hologram', raw: text('{"type":"agent.hologram","x":1}') }),
    item('e16', {
      kind: 'message',
      role: 'agent',
      parts: [
        textPart('Parts of other kinds:'),
        { kind: 'image', media_type: 'image/png', handle: 'h-img', bytes: 2048 },
        { kind: 'remote', what: 'image', address: 'https://tracker.example/other.png' },
        { kind: 'redacted' },
        { kind: 'unknown', what: 'hologram', raw: text('{"a":1}') },
      ],
      state: { kind: 'incomplete' },
    }),
    item('e17', {
      kind: 'message',
      role: 'user',
      parts: [textPart('not taken')],
      state: { kind: 'refused', message: 'a turn runs' },
    }),
    item('e18', { kind: 'marker', what: 'turn_end', stop: { kind: 'max_tokens' } }),
  ];
  return world;
}

/** Links that are what they look like, and some that are not. */
export function doubtfulLinks(): World {
  const world = base();
  world
    .of(1)
    .items.push(
      agentSaid(
        'links',
        'Sign in at [https://bank.test/login](https://evil.example/collect), read [our wiki](https://\u0435xample.com/login) or [README.md](https://git.example/x/README.md).',
      ),
    );
  return world;
}
