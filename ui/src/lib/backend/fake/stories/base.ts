/** The world most stories start from: the one of the mock. */
import type { Item, Server, SessionRow } from '$lib/contract';
import {
  agentSaid,
  item,
  noUsage,
  sampleHeader,
  sampleRow,
  sampleServer,
  STORY_NOW,
  text,
  toolCall,
  userSaid,
} from '../samples';
import { World } from '../world';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

export const servers: Server[] = [
  sampleServer(),
  sampleServer({
    id: 'srv-weather',
    name: 'Weather desk',
    base_url: 'https://weather.example.com',
    options: { ...sampleServer().options, dialect: 'claude' },
  }),
  sampleServer({
    id: 'srv-cloud',
    name: 'Qoder Cloud',
    base_url: 'https://api.example.com/api/v1/cloud',
    capabilities: { ...sampleServer().capabilities, while_running: 'steer' },
  }),
  sampleServer({
    id: 'srv-staging',
    name: 'Staging',
    base_url: 'http://staging.example.net:8080',
    state: {
      kind: 'unreachable',
      layer: 'connect',
      detail: 'connection refused (os error 111)',
      retry_at: STORY_NOW + 20_000,
    },
    warnings: ['plain_http', 'unauthenticated'],
    token: 'none',
    last_seen_at: STORY_NOW - 2 * DAY,
  }),
];

const rows: SessionRow[] = [
  sampleRow({
    id: 2,
    server: 'srv-weather',
    title: '东京天气简报',
    state: { kind: 'waiting' },
    waiting: 2,
    waiting_kind: 'approval',
    last_event_at: STORY_NOW - 2 * MINUTE,
  }),
  sampleRow({
    id: 3,
    server: 'srv-cloud',
    title: 'Triage flaky CI jobs',
    state: { kind: 'running' },
    activity: { kind: 'tool', name: 'read_logs' },
    last_event_at: STORY_NOW - 14_000,
  }),
  sampleRow({
    id: 4,
    server: 'srv-cloud',
    title: 'Invoice import mapping',
    activity: { kind: 'finished', stop: { kind: 'end_turn' } },
    last_event_at: STORY_NOW - 4 * DAY,
  }),
  sampleRow({
    id: 5,
    server: 'srv-staging',
    title: 'Release notes 4.2',
    live: false,
    last_event_at: STORY_NOW - 5 * DAY,
  }),
];

const usersEdit = {
  path: 'src/users.py',
  old_string: 'rows = db.all("select * from users order by id")',
  new_string:
    'rows = db.all("select * from users where id > ? order by id limit ?",\n              cursor, page_size + 1)',
};

function codingItems(): Item[] {
  return [
    userSaid(
      'i1',
      'The user list times out for big tenants. Add cursor pagination and make sure the tests still pass.',
    ),
    item('i2', {
      kind: 'thought',
      text: text('Offset pagination degrades with depth; keyset pagination by id stays flat.'),
      active: false,
      took_ms: 6000,
    }),
    agentSaid(
      'i3',
      "I'll page by `id` rather than offset, so the cost stays flat as tenants grow. First the query, then the handler.",
    ),
    toolCall('i4', { name: 'edit_file', subject: 'src/users.py', input: text(JSON.stringify(usersEdit)) }),
    item('i5', { kind: 'marker', what: 'resumed', away_ms: 12_000, after: 'evt_01abc123', recovered: 7 }),
    agentSaid(
      'i6',
      'The handler returns `next_cursor` when there is another page. Running the test suite now.',
    ),
  ];
}

/** The world of the mock: four servers, five sessions, one of which waits. */
export function base(): World {
  const world = new World();
  world.servers = servers;
  world.options = {
    agents: [
      {
        id: 'agent_dev',
        name: 'dev',
        description: 'Writes and tests code.',
        model: 'large',
        tools: ['shell', 'edit_file'],
      },
      { id: 'agent_desk', name: 'desk', description: null, model: null, tools: [] },
    ],
    environments: [{ id: 'env_1', name: 'default', description: null }],
  };
  world.scenarios = [
    {
      id: 'coding',
      title: 'A coding run',
      summary: 'Edits a file, shows a diff and asks before it runs a command.',
    },
    { id: 'batch', title: 'A parallel batch', summary: 'Several tools at once; you deny one of them.' },
    { id: 'research', title: 'A long research run', summary: 'Thinks, reads and writes tables.' },
    { id: 'tokyo', title: '东京天气', summary: '查询天气并写一份简报，发送之前会先问你。' },
  ];
  for (const row of rows) world.addSession(sampleHeader(row), [userSaid(`only-${row.id}`, row.title ?? '')]);
  const row = sampleRow({ state: { kind: 'waiting' }, waiting: 1, waiting_kind: 'approval' });
  world.addSession(
    sampleHeader(row, {
      turn: {
        id: 'turn_1',
        started_at: STORY_NOW - 108_000,
        ended_at: null,
        stop: null,
        usage: { ...noUsage, input_tokens: 23_487, output_tokens: 1024, cache_read_tokens: 11_223 },
        spans: [
          { kind: 'model', name: '', started_at: STORY_NOW - 108_000, ended_at: STORY_NOW - 84_000 },
          { kind: 'tool', name: 'edit_file', started_at: STORY_NOW - 83_000, ended_at: STORY_NOW - 80_000 },
          { kind: 'model', name: '', started_at: STORY_NOW - 71_000, ended_at: STORY_NOW - 52_000 },
          { kind: 'tool', name: 'read_file', started_at: STORY_NOW - 51_000, ended_at: STORY_NOW - 47_000 },
          { kind: 'model', name: '', started_at: STORY_NOW - 45_000, ended_at: STORY_NOW - 31_000 },
          { kind: 'you', name: '', started_at: STORY_NOW - 29_000, ended_at: null },
        ],
      },
    }),
    codingItems(),
    {
      log: [
        { at: STORY_NOW - 108_000, what: { kind: 'connected' }, cursor: null, detail: null },
        {
          at: STORY_NOW - 60_000,
          what: { kind: 'dropped', cause: { kind: 'silent' } },
          cursor: 'evt_01abc123',
          detail: 'no byte for 30 s',
        },
        {
          at: STORY_NOW - 48_000,
          what: { kind: 'resumed', recovered: 7, duplicates: 1, away_ms: 12_000 },
          cursor: 'evt_01abc130',
          detail: null,
        },
      ],
      decisions: [
        {
          number: 1,
          session: 1,
          request: 'r1',
          at: STORY_NOW - 79_000,
          by: 'you',
          choice: 'allow_once',
          tool: 'shell',
          subject: 'ruff check .',
          reason: null,
          digest: 'd',
          fate: { kind: 'accepted' },
          waited_ms: 1000,
        },
        {
          number: 2,
          session: 1,
          request: 'r2',
          at: STORY_NOW - 52_000,
          by: 'you',
          choice: 'deny',
          tool: 'shell',
          subject: 'rm -rf build',
          reason: null,
          digest: 'd',
          fate: { kind: 'accepted' },
          waited_ms: 1000,
        },
      ],
    },
  );
  return world;
}
