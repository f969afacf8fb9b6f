/** Stories of a server whose runs start with a request: their stream is the run, and cannot be left. */
import type { Capabilities, Item, RunOptions, Server, SessionHeader, SessionRow } from '$lib/contract';
import {
  agentSaid,
  allCapabilities,
  item,
  noUsage,
  sampleHeader,
  sampleRequest,
  sampleRow,
  sampleServer,
  STORY_NOW,
  text,
  textPart,
  toolCall,
  userSaid,
} from '../samples';
import { World } from '../world';

export const runCapabilities: Capabilities = {
  ...allCapabilities,
  agents: false,
  environments: false,
  create_environment: false,
  archive: false,
  delete: false,
  while_running: 'steer',
  deny_reason: false,
  outcomes: false,
  client_tools: false,
  threads: false,
  reattach: false,
  resume: true,
  fork: true,
  compact: true,
  context: true,
  name_itself: true,
  ask_aside: true,
  export_page: true,
  mentions: true,
  run_options: true,
  settings: true,
  one_current: true,
};

export const runOptions: RunOptions = {
  approvals: { mode: 'ask' },
  questions: 'ask',
  answer_timeout_s: 300,
  run_timeout_s: null,
  mentions: true,
};

export function runServer(change: Partial<Server> = {}): Server {
  return sampleServer({
    id: 'srv-runs',
    name: 'Workbench',
    base_url: 'http://127.0.0.1:3290',
    protocol: 'runs',
    options: { ...sampleServer().options, dialect: null },
    capabilities: runCapabilities,
    facts: {
      version: '0.2.0',
      workspace: '/home/you/importer',
      permission: 'ask',
      permissions: ['deny', 'ask', 'safe', 'full'],
      asking_permission: 'ask',
      refusing_permission: 'deny',
      model: 'Large',
      models: [
        { name: 'Large', model: 'large-2', context_window: 200_000, images: true },
        { name: 'Small', model: null, context_window: 32_000, images: false },
      ],
      no_model: false,
      effort: 'medium',
      efforts: ['low', 'medium', 'high'],
    },
    ...change,
  });
}

const context: SessionHeader['context'] = {
  used: 124_310,
  window: 200_000,
  partial: true,
  shares: [
    { name: 'messages', tokens: 88_204, items: 41 },
    { name: 'tools', tokens: 30_106, items: 1 },
    { name: 'system', tokens: 6000, items: null },
  ],
};

const said: Item[] = [
  userSaid('r1', 'Port the importer to the new API, and keep the old tests green. See @src/importer.py'),
  agentSaid('r2', 'I start with the reader, then the mapping. First a look at what the tests expect.'),
  toolCall('r3', {
    name: 'read_file',
    subject: 'src/importer.py',
    input: text('{\n  "path": "src/importer.py"\n}'),
    output: [textPart('def load(path):\n    ...\n')],
  }),
];

interface Change {
  header?: Partial<SessionHeader>;
  row?: Partial<SessionRow>;
  server?: Partial<Server>;
  items?: Item[];
}

/** One server, two sessions. Between runs there is no stream, and that is as it should be. */
export function runs({ header = {}, row = {}, server = {}, items = [] }: Change = {}): World {
  const world = new World();
  world.servers = [runServer(server)];
  world.mentions = [
    { token: 'src/importer.py', kind: 'file', name: 'importer.py', description: '4.2 KiB' },
    { token: 'src/importer_old.py', kind: 'file', name: 'importer_old.py', description: null },
    { token: 'src/', kind: 'folder', name: 'src', description: '12 files' },
    { token: 'docs/导入说明.md', kind: 'file', name: '导入说明.md', description: null },
  ];
  const mine = sampleRow({
    server: 'srv-runs',
    title: 'Port the importer',
    live: false,
    activity: { kind: 'finished', stop: { kind: 'end_turn' } },
    ...row,
  });
  world.addSession(
    sampleHeader(mine, {
      agent: null,
      cursor: null,
      connection: { kind: 'closed' },
      context,
      run_options: runOptions,
      usage: { ...noUsage, input_tokens: 88_204, output_tokens: 4120 },
      turn: {
        id: 'run_1',
        started_at: STORY_NOW - 96_000,
        ended_at: STORY_NOW - 12_000,
        stop: { kind: 'end_turn' },
        usage: {
          ...noUsage,
          input_tokens: 41_250,
          output_tokens: 2044,
          cache_read_tokens: 30_000,
          reasoning_tokens: 812,
          requests: 6,
          model_ms: 41_000,
        },
        spans: [],
      },
      ...header,
    }),
    [...said, ...items],
  );
  const other = sampleRow({
    id: 2,
    server: 'srv-runs',
    remote_id: 'sess_2',
    title: '整理发布说明',
    live: false,
  });
  world.addSession(sampleHeader(other, { connection: { kind: 'closed' }, run_options: runOptions }), [
    userSaid('o1', '整理一下发布说明。'),
  ]);
  return world;
}

const running = {
  header: {
    connection: { kind: 'live', since: STORY_NOW - 60_000 },
    running_options: runOptions,
    turn: {
      id: 'run_2',
      started_at: STORY_NOW - 60_000,
      ended_at: null,
      stop: null,
      usage: { ...noUsage, input_tokens: 12_400, output_tokens: 640, requests: 2 },
      spans: [],
    },
  },
  row: { state: { kind: 'running' }, live: true, activity: { kind: 'writing' } },
} as const satisfies Change;

/** A run goes on; a message was sent into it and is not taken in yet. */
export function runSteered(): World {
  const writing = agentSaid('s0', 'Now the mapping. The new API wants', true);
  const queued = userSaid('s1', 'Leave the command line as it is.');
  if (queued.body.kind === 'message') queued.body.state = { kind: 'queued' };
  return runs({ ...running, items: [writing, queued] });
}

/** The next runs would run every command unasked; the one that goes on still asks. */
export function runUnasked(): World {
  const auto: RunOptions = { ...runOptions, approvals: { mode: 'auto' } };
  return runs({ ...running, header: { ...running.header, running_options: auto, run_options: auto } });
}

export function runListed(): World {
  const approvals = { mode: 'commands', commands: ['git status', 'pytest -q'] } as const;
  return runs({
    header: {
      run_options: { ...runOptions, approvals: { ...approvals, commands: [...approvals.commands] } },
    },
  });
}

const waiting = {
  header: running.header,
  row: { state: { kind: 'waiting' }, live: true, waiting: 1 },
} as const satisfies Change;

export function runApproval(): World {
  const world = runs({ header: waiting.header, row: { ...waiting.row, waiting_kind: 'approval' } });
  world.of(1).requests.push(
    sampleRequest({
      server: 'srv-runs',
      server_name: 'Workbench',
      tool: 'bash',
      command: text('pytest -q tests/importer --maxfail=1'),
      arguments: text('{\n  "command": "pytest -q tests/importer --maxfail=1"\n}'),
      work_dir: '/home/you/importer/packages/reader',
      asked_at: STORY_NOW - 29_000,
      deadline: STORY_NOW + 271_000,
      choices: [
        { id: 'allow', kind: 'allow_once', label: null, scope: null, takes_reason: false },
        {
          id: 'always',
          kind: 'allow_always',
          label: null,
          scope: { kind: 'command_text_until_server_ends' },
          takes_reason: false,
        },
        { id: 'deny', kind: 'deny', label: null, scope: null, takes_reason: false },
      ],
    }),
  );
  return world;
}

/** The same in the last fifth of its time. */
export function runApprovalLate(): World {
  const world = runApproval();
  const request = world.of(1).requests[0];
  if (request !== undefined) request.deadline = STORY_NOW + 50_000;
  if (request !== undefined) request.asked_at = STORY_NOW - 250_000;
  return world;
}

export function runQuestion(): World {
  const world = runs({ header: waiting.header, row: { ...waiting.row, waiting_kind: 'question' } });
  world.of(1).requests.push(
    sampleRequest({
      server: 'srv-runs',
      server_name: 'Workbench',
      kind: 'question',
      tool: 'ask_user',
      command: null,
      arguments: text(''),
      work_dir: null,
      questions: [
        {
          id: 'call_9',
          text: 'Which of the old formats must the importer still read?',
          options: ['CSV', 'Excel 97', 'fixed width'],
          multiple: true,
          free_text: true,
        },
      ],
      choices: [
        { id: 'answer', kind: 'answer', label: null, scope: null, takes_reason: false },
        { id: 'decline', kind: 'decline', label: null, scope: null, takes_reason: false },
      ],
    }),
  );
  return world;
}

/** The server's own level runs commands unasked, and no model is set up. */
export const runNotAsked = (): World =>
  runs({
    server: {
      warnings: ['commands_not_asked', 'no_model'],
      facts: { ...runServer().facts, permission: 'full', model: null, models: [], no_model: true },
    },
  });

export const runResumable = (): World =>
  runs({
    header: { resumable: { kind: 'call_model', description: 'The model was about to answer.' } },
    row: { activity: { kind: 'finished', stop: { kind: 'interrupted' } } },
    items: [item('x1', { kind: 'marker', what: 'turn_end', stop: { kind: 'interrupted' } })],
  });

export const runForeign = (): World =>
  runs({
    header: { foreign_run: true, connection: { kind: 'closed' }, turn: null },
    row: { state: { kind: 'running' }, live: false, activity: null },
  });

/** Every marker and state that only runs know, ended by a full context. */
export function runEverything(): World {
  const turn = runs().of(1).header.turn;
  return runs({
    header: { turn: turn === null ? null : { ...turn, stop: { kind: 'context_full' } } },
    items: [
      item('e1', {
        kind: 'marker',
        what: 'ruled',
        on: 'command',
        allowed: true,
        subject: text('git status --short'),
      }),
      item('e2', {
        kind: 'marker',
        what: 'ruled',
        on: 'command',
        allowed: false,
        subject: text('rm -rf build && echo \u202Edone'),
      }),
      item('e3', {
        kind: 'marker',
        what: 'ruled',
        on: 'question',
        allowed: false,
        subject: text('May I update the lock file?'),
      }),
      toolCall('e4', {
        name: 'web_search',
        source: 'server',
        subject: 'importer api changes',
        input: text('{\n  "query": "importer api changes"\n}'),
        output: [textPart('3 results')],
      }),
      item('e5', { kind: 'marker', what: 'steering', phase: 'taken', text: null }),
      userSaid('e6', 'Leave the command line as it is.'),
      toolCall('e7', {
        name: 'bash',
        subject: 'make all',
        command: 'make all',
        state: { kind: 'skipped' },
        started_at: null,
        ended_at: null,
      }),
      item('e8', { kind: 'marker', what: 'steering', phase: 'finished', text: null }),
      item('e9', { kind: 'marker', what: 'steering', phase: 'interrupted', text: 'And use tabs.' }),
      item('e10', {
        kind: 'notice',
        level: 'warning',
        code: 'server',
        text: 'The command was not answered in time.',
        detail: null,
      }),
      item('e11', { kind: 'marker', what: 'compacted', summary: null, active: false, unchanged: true }),
      item('e12', {
        kind: 'marker',
        what: 'compacted',
        summary: text('The importer is **ported**; the mapping is left.\n\n- tests: 41 green'),
        active: false,
        unchanged: false,
      }),
      item('e13', { kind: 'marker', what: 'compacted', summary: null, active: true, unchanged: false }),
      item('e14', { kind: 'marker', what: 'turn_end', stop: { kind: 'context_full' } }),
    ],
  });
}

/** A run goes on at a server that is about to be paused, edited or removed. */
export const runLive = (): World => runs(running);
