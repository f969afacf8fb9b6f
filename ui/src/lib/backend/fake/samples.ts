/** Whole values of the contract with sensible contents, for tests and for the rehearsal backend. */
import type {
  Capabilities,
  Item,
  ItemBody,
  Part,
  Request,
  Server,
  SessionHeader,
  SessionRow,
  Text,
  ToolCall,
  Usage,
} from '$lib/contract';

/** The moment at which the rehearsal's stories are told. */
export const STORY_NOW = Date.now();

export const text = (value: string): Text => ({ text: value, chars: [...value].length, handle: null });

export const textPart = (value: string): Part => ({ kind: 'text', ...text(value) });

export const noUsage: Usage = {
  input_tokens: null,
  output_tokens: null,
  cache_read_tokens: null,
  cache_write_tokens: null,
  credits: null,
  cost: null,
  reasoning_tokens: null,
  requests: null,
  model_ms: null,
};

export const allCapabilities: Capabilities = {
  list_sessions: true,
  create_session: true,
  agents: true,
  environments: true,
  create_environment: true,
  rename: true,
  archive: true,
  delete: true,
  stop: true,
  while_running: 'queue_here',
  deny_reason: true,
  images: true,
  outcomes: true,
  client_tools: true,
  threads: true,
  reattach: true,
  resume: false,
  fork: false,
  compact: false,
  context: false,
  name_itself: false,
  ask_aside: false,
  export_page: false,
  mentions: false,
  run_options: false,
  settings: false,
  one_current: false,
  setup: false,
  answers_together: false,
  stop_lets_go: false,
  image_links: false,
  titles_here: false,
};

export function sampleServer(change: Partial<Server> = {}): Server {
  return {
    id: 'srv-local',
    name: 'Local runner',
    base_url: 'http://127.0.0.1:3290',
    protocol: 'managed',
    options: {
      dialect: 'qoder',
      seed_compat: false,
      delta_flush_interval_ms: null,
      auth: null,
      headers: [],
      insecure_accepted: false,
      event_cap_bytes: null,
      disk_cap_bytes: null,
    },
    token: 'keyring',
    paused: false,
    practice: false,
    state: { kind: 'online' },
    capabilities: allCapabilities,
    warnings: [],
    last_seen_at: STORY_NOW,
    facts: {
      version: null,
      workspace: null,
      permission: null,
      permissions: [],
      asking_permission: null,
      model: null,
      models: [],
      no_model: false,
      effort: null,
      efforts: [],
    },
    ...change,
  };
}

export function sampleRow(change: Partial<SessionRow> = {}): SessionRow {
  return {
    id: 1,
    server: 'srv-local',
    remote_id: 'sess_1',
    title: 'Add pagination to users API',
    state: { kind: 'idle' },
    waiting: 0,
    waiting_kind: null,
    activity: null,
    last_event_at: STORY_NOW,
    created_at: STORY_NOW - 3_600_000,
    archived: false,
    live: true,
    ...change,
  };
}

export function sampleHeader(row: SessionRow, change: Partial<SessionHeader> = {}): SessionHeader {
  return {
    row,
    agent: 'dev',
    connection: { kind: 'live', since: STORY_NOW - 120_000 },
    cursor: 'evt_01abc130',
    closed: null,
    stop: { kind: 'none' },
    loading_history: false,
    turn: null,
    usage: noUsage,
    queued: [],
    goals: [],
    threads: [],
    resumable: null,
    foreign_run: false,
    context: null,
    run_options: null,
    running_options: null,
    ...change,
  };
}

export function sampleRequest(change: Partial<Request> = {}): Request {
  return {
    id: 'call-1',
    session: 1,
    server: 'srv-local',
    server_name: 'Local runner',
    kind: 'approval',
    tool: 'shell',
    source: null,
    item: null,
    agent_path: [],
    command: text('pytest -q tests/users'),
    work_dir: 'clients/web',
    arguments: text('{"command":"pytest -q tests/users"}'),
    lines: 1,
    questions: [],
    choices: [
      { id: 'deny', kind: 'deny', label: null, scope: null, takes_reason: true },
      { id: 'allow', kind: 'allow_once', label: null, scope: null, takes_reason: false },
    ],
    state: { kind: 'open' },
    flags: [],
    digest: 'digest-1',
    asked_at: STORY_NOW - 29_000,
    deadline: null,
    ...change,
  };
}

let order = 0;

export function item(id: string, body: ItemBody, at = STORY_NOW): Item {
  order += 1;
  return { id, order, turn: 'turn_1', thread: null, at, body };
}

export const userSaid = (id: string, value: string): Item =>
  item(id, { kind: 'message', role: 'user', parts: [textPart(value)], state: { kind: 'done' } });

export const agentSaid = (id: string, value: string, streaming = false): Item =>
  item(id, {
    kind: 'message',
    role: 'agent',
    parts: [textPart(value)],
    state: { kind: streaming ? 'streaming' : 'done' },
  });

export function toolCall(id: string, change: Partial<ToolCall>): Item {
  return item(id, {
    kind: 'tool',
    name: 'shell',
    source: null,
    input: text('{}'),
    command: null,
    subject: null,
    state: { kind: 'done' },
    output: [],
    started_at: STORY_NOW - 1000,
    ended_at: STORY_NOW - 960,
    request: null,
    ...change,
  });
}
