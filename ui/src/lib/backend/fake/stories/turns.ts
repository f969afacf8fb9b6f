/** Stories of a server whose sessions are set up, and whose turns take all answers in one request. */
import type {
  AgentOffer,
  Capabilities,
  Item,
  Request,
  Server,
  SessionHeader,
  SessionRow,
  SessionSetup,
  StopReason,
} from '$lib/contract';
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
import { refusal, World } from '../world';

export const turnCapabilities: Capabilities = {
  ...allCapabilities,
  environments: false,
  create_environment: false,
  archive: false,
  outcomes: false,
  threads: false,
  reattach: false,
  setup: true,
  answers_together: true,
  stop_lets_go: true,
  image_links: true,
  titles_here: true,
};

export const turnOffer: AgentOffer = {
  tools: [
    { name: 'read_file', title: 'Read a file', description: 'Reads a file of the workspace.' },
    { name: 'deploy', title: null, description: 'Brings a build to one of the stages.' },
    { name: 'search', title: null, description: null },
  ],
  options: [
    {
      name: 'language',
      title: 'Language',
      description: 'The language it answers in.',
      kind: { kind: 'select', values: ['English', '中文'] },
      default: 'English',
      kept: false,
    },
    { name: 'tone', title: null, description: null, kind: { kind: 'text' }, default: 'plain', kept: false },
    {
      name: 'search_key',
      title: 'Search key',
      description: null,
      kind: { kind: 'secret' },
      default: '',
      kept: true,
    },
  ],
  own_tools: true,
  beginnings: true,
  image_links: true,
  image_data: true,
};

const setup: SessionSetup = {
  tools: [
    { name: 'read_file', trusted: true },
    { name: 'deploy', trusted: false },
  ],
  options: [
    { name: 'language', value: 'English' },
    { name: 'tone', value: 'plain' },
    { name: 'search_key', value: null },
  ],
  own_tools: ['ask_user', 'open_link'],
};

const said: Item[] = [
  userSaid('t1', 'Bring the release to staging, and show me the notes first.'),
  toolCall('t2', {
    name: 'read_file',
    subject: 'CHANGELOG.md',
    input: text('{\n  "path": "CHANGELOG.md"\n}'),
    output: [
      textPart('## 2.4.0\n\n- faster start'),
      { kind: 'image', media_type: 'image/png', handle: 'h-image', bytes: 70 },
      { kind: 'remote', what: 'image', address: 'https://images.example/notes.png' },
    ],
  }),
  agentSaid('t3', 'The notes are ready. I need three things before I go on.'),
];

interface Change {
  header?: Partial<SessionHeader>;
  row?: Partial<SessionRow>;
  server?: Partial<Server>;
  items?: Item[];
}

const TITLE = 'Bring the release to staging';

export function turns({ header = {}, row = {}, server = {}, items = [] }: Change = {}): World {
  const world = new World();
  world.servers = [
    sampleServer({
      id: 'srv-turns',
      name: 'Harbour',
      base_url: 'http://127.0.0.1:3290/v1',
      protocol: 'turns',
      options: { ...sampleServer().options, dialect: 'v3' },
      capabilities: turnCapabilities,
      ...server,
    }),
  ];
  world.options = {
    agents: [
      {
        id: 'pilot',
        name: 'Pilot',
        description: 'Brings builds to where they belong.',
        model: null,
        tools: ['read_file', 'deploy', 'search'],
        offer: turnOffer,
      },
      {
        id: 'plain',
        name: 'Plain',
        description: null,
        model: null,
        tools: [],
        offer: {
          tools: [],
          options: [],
          own_tools: false,
          beginnings: false,
          image_links: false,
          image_data: false,
        },
      },
    ],
    environments: [],
  };
  world.payloads.set(
    'h-image',
    'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGM4YRSABzGMSmNDAHs+bXl9M4mBAAAAAElFTkSuQmCC',
  );
  const mine = sampleRow({ server: 'srv-turns', title: TITLE, live: false, ...row });
  world.addSession(
    sampleHeader(mine, {
      agent: 'Pilot',
      cursor: null,
      connection: { kind: 'closed' },
      setup,
      offer: turnOffer,
      turn: {
        id: 'turn_1',
        started_at: STORY_NOW - 96_000,
        ended_at: STORY_NOW - 42_000,
        stop: { kind: 'end_turn' },
        usage: noUsage,
        spans: [],
      },
      ...header,
    }),
    [...said, ...items],
  );
  return world;
}

const choices = {
  allow: { id: 'allow_once', kind: 'allow_once', label: null, scope: null, takes_reason: false },
  deny: { id: 'deny', kind: 'deny', label: null, scope: null, takes_reason: true },
} as const satisfies Record<string, Request['choices'][number]>;

/** A request of this server; ids, digests and arguments differ by what is given. */
function request(id: string, change: Partial<Request>): Request {
  return sampleRequest({
    id,
    digest: `digest-${id}`,
    server: 'srv-turns',
    server_name: 'Harbour',
    command: null,
    work_dir: null,
    choices: [choices.allow, choices.deny],
    ...change,
  });
}

const deploy = (): Request =>
  request('call_deploy', {
    tool: 'deploy',
    arguments: text('{\n  "build": "2.4.0",\n  "stage": "staging"\n}'),
    lines: 4,
    choices: [
      choices.allow,
      {
        id: 'allow_always',
        kind: 'allow_always',
        label: null,
        scope: { kind: 'tool_in_session', tool: 'deploy' },
        takes_reason: false,
      },
      choices.deny,
    ],
  });

const link = (url: string): Request =>
  request('call_link', {
    asked_at: STORY_NOW - 28_000,
    tool: 'open_link',
    source: 'client',
    arguments: text(JSON.stringify({ url }, null, 2)),
    own_tool: { tool: 'open_link', url },
  });

const question = (): Request =>
  request('call_ask', {
    asked_at: STORY_NOW - 27_000,
    kind: 'question',
    tool: 'ask_user',
    source: 'client',
    arguments: text(''),
    questions: [
      {
        id: 'call_ask',
        text: 'Who shall hear of it?',
        options: ['Everybody', 'The team'],
        multiple: false,
        free_text: true,
      },
    ],
    choices: [
      { id: 'answer', kind: 'answer', label: null, scope: null, takes_reason: false },
      { id: 'decline', kind: 'decline', label: null, scope: null, takes_reason: false },
    ],
  });

const waits = (requests: Request[], header: Partial<SessionHeader> = {}): World => {
  const world = turns({
    row: { state: { kind: 'waiting' }, waiting: requests.length, waiting_kind: 'approval' },
    header: {
      turn: {
        id: 'turn_1',
        started_at: STORY_NOW - 96_000,
        ended_at: null,
        stop: null,
        usage: noUsage,
        spans: [],
      },
      ...header,
    },
  });
  world.of(1).requests.push(...requests);
  return world;
};

const grouped = (requests: Request[]): Request[] =>
  requests.map((one) => ({ ...one, group: 'call_ask+call_deploy+call_link' }));

/** Three answers that leave together. */
export const turnGroup = (): World =>
  waits(grouped([deploy(), link('https://status.example/releases/2.4.0'), question()]));

/** The same, and a message that waits for its turn. */
export const turnQueued = (): World =>
  waits(grouped([deploy(), link('https://status.example/releases/2.4.0'), question()]), {
    queued: [{ id: 'q1', text: 'Leave it for today.', at: STORY_NOW - 4000, held: false }],
  });

export const turnLink = (): World => waits([link('https://xn--bnk-hoa.example/login?next=%2F')]);

export const turnNotify = (): World => {
  const call = {
    title: 'Staging is up',
    body: '2.4.0 runs there.\nNothing was \u202Edeveihca\u202C skipped.',
  };
  return waits([
    request('call_notify', {
      tool: 'notify_user',
      source: 'client',
      arguments: text(JSON.stringify(call, null, 2)),
      flags: ['hidden_characters'],
      own_tool: { tool: 'notify_user', ...call },
    }),
  ]);
};

export const turnReadClipboard = (): World =>
  waits([
    request('call_read', {
      tool: 'read_clipboard',
      source: 'client',
      arguments: text('{}'),
      own_tool: { tool: 'read_clipboard' },
    }),
  ]);

/** Longer than what a request carries: the whole of it is on the card nevertheless. */
export const turnWriteClipboard = (): World => {
  const whole = Array.from({ length: 60 }, (_value, line) => `line ${line + 1} of the new text`).join('\n');
  const input = JSON.stringify({ text: whole, hint: 'for the ticket' }, null, 2);
  const world = waits([
    request('call_write', {
      tool: 'write_clipboard',
      source: 'client',
      arguments: { text: input.slice(0, 200), chars: input.length, handle: 'h-write' },
      own_tool: { tool: 'write_clipboard', text: whole },
    }),
  ]);
  world.payloads.set('h-write', input);
  return world;
};

export const turnUnknown = (): World =>
  waits([
    request('call_ghost', {
      kind: 'client_tool',
      tool: 'ghost',
      arguments: text('{\n  "of": "the old ship"\n}'),
      choices: [
        { id: 'unknown_tool', kind: 'report_error', label: null, scope: null, takes_reason: false },
        { id: 'answer', kind: 'answer', label: null, scope: null, takes_reason: false },
      ],
    }),
  ]);

const turn = (stop: StopReason | null, ended: boolean): SessionHeader['turn'] => ({
  id: 'turn_2',
  started_at: STORY_NOW - 42_000,
  ended_at: ended ? STORY_NOW - 2000 : null,
  stop,
  usage: noUsage,
  spans: [],
});

/** A turn that tells nothing before its end. */
export const turnSilent = (): World =>
  turns({
    header: { turn: turn(null, false), connection: { kind: 'live', since: STORY_NOW - 42_000 } },
    row: { state: { kind: 'running' }, live: true, last_event_at: STORY_NOW - 42_000 },
    items: [userSaid('s1', 'And the notes in Chinese, please.')],
  });

/** Nobody listens any more; the server goes on, and its history leaves things out. */
export const turnLetGo = (): World =>
  turns({
    header: {
      turn: turn({ kind: 'stopped' }, true),
      stop: { kind: 'let_go', at: STORY_NOW - 2000 },
      incomplete_history: true,
    },
  });

const ended = (stop: StopReason): World =>
  turns({
    header: { turn: turn(stop, true) },
    items: [
      userSaid('e1', 'And the notes in Chinese, please.'),
      item('e2', { kind: 'marker', what: 'turn_end', stop }),
    ],
  });

export const turnMaxTokens = (): World => ended({ kind: 'max_tokens' });
export const turnError = (): World => ended({ kind: 'error', message: null });
export const turnRefusal = (): World => ended({ kind: 'refusal', explanation: null });

/** The server puts new sessions at another origin, and takes the person's word for it. */
export function turnOrigin(): World {
  const world = turns();
  world.failing.set('create_session', refusal('other_origin', 'https://east.harbour.example'));
  return world;
}
