/**
 * A small world behind the {@link Backend} interface, all in memory: it answers every command, and sends numbered
 * batches as the engine does. Only the rehearsal build and tests use it.
 */
import type {
  AppError,
  AppFacts,
  Batch,
  Commands,
  ConnectionLogRow,
  ErrorCode,
  HistoryHit,
  Item,
  LedgerRow,
  Mention,
  NewSessionOptions,
  OverviewChange,
  Patch,
  Request,
  ScenarioRow,
  Server,
  ServerDraft,
  SessionChange,
  SessionHeader,
  SessionId,
  SessionRow,
} from '$lib/contract';
import type { Backend, CloseAsked, CommandName } from '../backend';
import { unaskedMark } from '$lib/run-options';
import { probe } from './probe';
import { sampleHeader, sampleRow, sampleServer, userSaid } from './samples';
import { decided, declined, told, without } from './turns';

export interface WorldSession {
  header: SessionHeader;
  items: Item[];
  requests: Request[];
  log: ConnectionLogRow[];
  decisions: LedgerRow[];
  revision: number;
}

export const refusal = (code: ErrorCode, detail: string | null = null): AppError => ({
  code,
  message: `refused: ${code}`,
  retryable: false,
  detail,
});

/** Items in a snapshot, as the engine sends them. */
const PAGE = 200;

type Handlers = { [K in CommandName]: (args: Commands[K]['args']) => Commands[K]['result'] };

export class World implements Backend {
  servers: Server[] = [];
  sessions = new Map<SessionId, WorldSession>();
  payloads = new Map<string, string>();
  options: NewSessionOptions = { agents: [], environments: [] };
  scenarios: ScenarioRow[] = [];
  /** What an `@` is completed to. */
  mentions: Mention[] = [];
  facts: AppFacts = {
    version: '0.1.0',
    os: 'linux',
    preferences: { theme: 'system', language: null, practice_on: false, scroll_before_allow: null },
    keyring: { kind: 'ready' },
    notices: [],
  };
  /** Every command that was called, for tests. */
  readonly calls: { name: CommandName; args: unknown }[] = [];
  /** Commands that shall fail, by name. */
  readonly failing = new Map<CommandName, AppError>();
  private number = 0;
  private send: ((batch: Batch) => void) | null = null;
  private askClose: ((asked: CloseAsked) => void) | null = null;

  async call<K extends CommandName>(name: K, args: Commands[K]['args']): Promise<Commands[K]['result']> {
    this.calls.push({ name, args: structuredClone(args) });
    await Promise.resolve();
    const failure = this.failing.get(name);
    if (failure !== undefined) throw failure;
    return structuredClone(this.handlers[name](args)) as Commands[K]['result'];
  }

  subscribe(onBatch: (batch: Batch) => void): Promise<void> {
    this.send = onBatch;
    return Promise.resolve();
  }

  onCloseAsked(ask: (asked: CloseAsked) => void): Promise<void> {
    this.askClose = ask;
    return Promise.resolve();
  }

  closeAsked(live: number, harmless: boolean): void {
    this.askClose?.({ live, harmless });
  }

  /** Sends patches as one batch. `skip` loses that many batches first. */
  emit(patches: Patch[], skip = 0): void {
    this.number += 1 + skip;
    this.send?.({ number: this.number, patches: structuredClone(patches) });
  }

  change(session: SessionId, ...changes: SessionChange[]): void {
    const world = this.of(session);
    for (const change of changes) this.keep(world, change);
    this.emit(
      changes.map((change) => {
        world.revision += 1;
        return { topic: 'session', session, revision: world.revision, change };
      }),
    );
  }

  overview(change: OverviewChange): void {
    this.emit([{ topic: 'overview', change }]);
  }

  updateHeader(session: SessionId, change: Partial<SessionHeader>, row: Partial<SessionRow> = {}): void {
    const world = this.of(session);
    const header = marked({ ...world.header, ...change, row: { ...world.header.row, ...row } });
    this.change(session, { kind: 'header', header });
    this.overview({ kind: 'session', row: header.row });
  }

  setRequest(request: Request): void {
    this.change(request.session, { kind: 'request', request });
    const waiting = this.of(request.session).requests.filter((other) => other.state.kind === 'open');
    this.updateHeader(
      request.session,
      {},
      { waiting: waiting.length, waiting_kind: waiting[0]?.kind ?? null },
    );
  }

  addSession(header: SessionHeader, items: Item[] = [], more: Partial<WorldSession> = {}): WorldSession {
    const session: WorldSession = {
      header: marked(header),
      items,
      requests: [],
      log: [],
      decisions: [],
      revision: 0,
      ...more,
    };
    this.sessions.set(header.row.id, session);
    return session;
  }

  of(session: SessionId): WorldSession {
    const found = this.sessions.get(session);
    if (found === undefined) throw refusal('not_found');
    return found;
  }

  private keep(world: WorldSession, change: SessionChange): void {
    const replace = <T extends { id: string }>(list: T[], value: T) => {
      const at = list.findIndex((other) => other.id === value.id);
      if (at < 0) list.push(value);
      else list[at] = value;
    };
    if (change.kind === 'header') world.header = change.header;
    if (change.kind === 'item') replace(world.items, change.item);
    if (change.kind === 'item_gone') world.items = world.items.filter((item) => item.id !== change.item);
    if (change.kind === 'request') replace(world.requests, change.request);
    if (change.kind === 'request_gone')
      world.requests = world.requests.filter((request) => request.id !== change.request);
    if (change.kind === 'connection') world.log.push(change.row);
    if (change.kind === 'decision') world.decisions.push(change.row);
    if (change.kind === 'append') {
      const body = world.items.find((item) => item.id === change.item)?.body;
      const target =
        body?.kind === 'message'
          ? body.parts[change.part ?? 0]
          : body?.kind === 'thought'
            ? body.text
            : undefined;
      if (target !== undefined && 'text' in target) {
        target.text += change.text;
        target.chars += [...change.text].length;
      }
    }
  }

  private putServer(id: string, change: Partial<Server>): Server {
    const at = this.servers.findIndex((server) => server.id === id);
    const old = this.servers[at];
    if (old === undefined) throw refusal('not_found');
    const server = { ...old, ...change };
    this.servers = this.servers.with(at, server);
    this.overview({ kind: 'servers', servers: this.servers });
    return server;
  }

  /** Refuses what would stop a run that cannot be left, until the person has agreed. */
  private checkRuns(server: string, agreed: boolean | undefined): void {
    const holds = this.servers.find((other) => other.id === server)?.capabilities.reattach === false;
    const live = [...this.sessions.values()].some(
      ({ header: { row } }) =>
        row.server === server && row.live && ['running', 'waiting'].includes(row.state.kind),
    );
    if (holds && live && agreed !== true) throw refusal('stops_runs');
  }

  private checkToken(draft: Pick<ServerDraft, 'token' | 'session_only'>): void {
    const keyring = this.facts.keyring;
    if (draft.token === '' || draft.session_only) return;
    if (keyring.kind === 'missing') throw refusal('keyring_missing', keyring.detail);
    if (keyring.kind === 'locked') throw refusal('keyring_locked', keyring.detail);
  }

  private createSession(server: string, title: string | null, message: string): { session: SessionId } {
    const id = Math.max(0, ...this.sessions.keys()) + 1;
    const row = sampleRow({ id, server, title, state: { kind: message === '' ? 'idle' : 'running' } });
    this.addSession(sampleHeader(row), message === '' ? [] : [userSaid(`said-${id}`, message)]);
    this.overview({ kind: 'session', row });
    return { session: id };
  }

  private search(text: string, server: string | null): HistoryHit[] {
    const wanted = text.toLowerCase();
    return [...this.sessions.values()].flatMap(({ header, items }) => {
      if (server !== null && header.row.server !== server) return [];
      const base = {
        row: header.row,
        server_name: this.servers.find((other) => other.id === header.row.server)?.name ?? '',
        last_active_at: header.row.last_event_at,
      };
      if (wanted === '') return [{ ...base, places: [] }];
      const found = [
        { id: null, value: header.row.title ?? '' },
        ...items.map((item) => ({ id: item.id, value: textOf(item) })),
      ];
      const places = found.flatMap(({ id, value }) => {
        const at = value.toLowerCase().indexOf(wanted);
        const around = 40;
        return at < 0
          ? []
          : [
              {
                item: id,
                before: value.slice(Math.max(0, at - around), at),
                matched: value.slice(at, at + wanted.length),
                after: value.slice(at + wanted.length, at + wanted.length + around),
              },
            ];
      });
      return places.length === 0 ? [] : [{ ...base, places: places.slice(0, 3) }];
    });
  }

  private readonly handlers: Handlers = {
    overview: () => ({
      servers: this.servers,
      sessions: [...this.sessions.values()].map((session) => session.header.row),
      facts: this.facts,
      batch: this.number,
    }),
    set_preferences: (preferences) => {
      this.facts = { ...this.facts, preferences };
      this.overview({ kind: 'facts', facts: this.facts });
      return null;
    },
    probe_server: (draft) => probe(draft),
    add_server: (draft) => {
      this.checkToken(draft);
      const server = sampleServer({
        id: `srv-${this.servers.length + 1}`,
        name: draft.name === '' ? new URL(draft.base_url).host : draft.name,
        base_url: draft.base_url,
        options: draft.options,
        token: draft.token === '' ? 'none' : draft.session_only ? 'session_only' : 'keyring',
        warnings: draft.session_only ? ['token_not_stored'] : draft.token === '' ? ['unauthenticated'] : [],
      });
      this.servers = [...this.servers, server];
      this.overview({ kind: 'servers', servers: this.servers });
      return server;
    },
    edit_server: ({ server, name, base_url, options, stop_runs }) => {
      this.checkRuns(server, stop_runs);
      if (base_url.startsWith('http://') && !base_url.includes('127.0.0.1') && !options.insecure_accepted)
        throw refusal('insecure_url');
      return this.putServer(server, { name, base_url, options });
    },
    replace_token: ({ server, token, session_only, stop_runs }) => {
      if (token === '') this.checkRuns(server, stop_runs);
      this.checkToken({ token, session_only });
      return this.putServer(server, {
        token: token === '' ? 'none' : session_only ? 'session_only' : 'keyring',
        state: { kind: 'online' },
      });
    },
    pause_server: ({ server, paused, stop_runs }) => {
      if (paused) this.checkRuns(server, stop_runs);
      return this.putServer(server, { paused, state: paused ? { kind: 'paused' } : { kind: 'online' } });
    },
    reorder_servers: ({ order }) => {
      this.servers = order.flatMap((id) => this.servers.filter((server) => server.id === id));
      this.overview({ kind: 'servers', servers: this.servers });
      return null;
    },
    remove_server: ({ server, stop_runs }) => {
      this.checkRuns(server, stop_runs);
      this.servers = this.servers.filter((other) => other.id !== server);
      this.overview({ kind: 'servers', servers: this.servers });
      return null;
    },
    refresh_server: () => null,
    set_practice: ({ on, stop_runs }) => {
      if (!on) this.checkRuns('practice', stop_runs);
      const rest = this.servers.filter((server) => !server.practice);
      const practice = sampleServer({
        id: 'practice',
        name: 'Practice server',
        practice: true,
        token: 'none',
        base_url: 'http://127.0.0.1:0',
        state: on ? { kind: 'online' } : { kind: 'off' },
      });
      this.servers = [practice, ...rest];
      this.facts = { ...this.facts, preferences: { ...this.facts.preferences, practice_on: on } };
      this.emit([
        { topic: 'overview', change: { kind: 'servers', servers: this.servers } },
        { topic: 'overview', change: { kind: 'facts', facts: this.facts } },
      ]);
      return null;
    },
    start_scenario: ({ scenario }) =>
      this.createSession(
        'practice',
        this.scenarios.find((row) => row.id === scenario)?.title ?? scenario,
        'Go on.',
      ),
    list_scenarios: () => this.scenarios,
    new_session_options: () => this.options,
    create_environment: ({ name }) => {
      this.options = { ...this.options, environments: [{ id: 'env-new', name, description: null }] };
      return this.options;
    },
    create_session: ({ server, title, message }) => this.createSession(server, title, message),
    open_session: ({ session }) => {
      const world = this.of(session);
      return {
        session,
        revision: world.revision,
        header: world.header,
        items: world.items.slice(-PAGE),
        has_older: world.items.length > PAGE,
        total_items: world.items.length,
        requests: world.requests,
        connection_log: world.log,
        decisions: world.decisions,
      };
    },
    close_session: () => null,
    read_items: ({ session, before, limit }) => {
      const items = this.of(session).items;
      const end = items.findIndex((item) => item.id === before);
      const start = Math.max(0, end - limit);
      return { items: items.slice(start, end), has_older: start > 0 };
    },
    read_payload: ({ handle, from, limit }) => {
      const whole = [...(this.payloads.get(handle) ?? '')];
      return { text: whole.slice(from, from + limit).join(''), from, chars: whole.length, read_at: 0 };
    },
    send_message: ({ session, text }) => {
      const world = this.of(session);
      const busy =
        ['running', 'waiting'].includes(world.header.row.state.kind) ||
        world.header.connection.kind === 'waiting';
      const id = `mine-${this.calls.length}`;
      const server = this.servers.find((other) => other.id === world.header.row.server);
      if (busy && server?.capabilities.while_running === 'steer') {
        const said = { ...userSaid(id, text), order: world.items.length + 100_000 };
        if (said.body.kind === 'message') said.body.state = { kind: 'queued' };
        this.change(session, { kind: 'item', item: said });
      } else if (busy)
        this.updateHeader(session, {
          queued: [...world.header.queued, { id, text, at: Date.now(), held: false }],
        });
      else
        this.change(session, {
          kind: 'item',
          item: { ...userSaid(id, text), order: world.items.length + 100_000 },
        });
      return null;
    },
    queued_message: ({ session, id, action }) => {
      const world = this.of(session);
      if (action === 'decline_and_send')
        for (const request of declined(world.requests)) this.setRequest(request);
      this.updateHeader(session, { queued: without(world.header.queued, id) });
      return null;
    },
    set_session_setup: ({ session, ...change }) => {
      this.updateHeader(session, { setup: told(change) });
      return null;
    },
    stop_session: ({ session }) => {
      this.updateHeader(
        session,
        { stop: { kind: 'requested', at: Date.now() } },
        { state: { kind: 'stopping' } },
      );
      return null;
    },
    retry_now: ({ session }) => {
      this.updateHeader(session, { connection: { kind: 'live', since: Date.now() } });
      return null;
    },
    rename_session: ({ session, title }) => {
      this.updateHeader(session, {}, { title });
      return null;
    },
    archive_session: ({ session }) => {
      this.updateHeader(session, { closed: 'archived' }, { archived: true });
      return null;
    },
    delete_session: ({ session }) => {
      this.updateHeader(session, { closed: 'deleted' }, { state: { kind: 'ended' } });
      return null;
    },
    set_run_options: ({ session, options }) => {
      // A mode that asks nobody lapses after an hour, as the engine has it.
      const unasked = options.approvals.mode === 'auto' || options.approvals.mode === 'commands';
      const run_options = unasked ? { ...options, unasked_until: Date.now() + 3_600_000 } : options;
      this.updateHeader(session, { run_options });
      return null;
    },
    resume_run: ({ session }) => {
      this.updateHeader(session, { resumable: null }, { state: { kind: 'running' } });
      return null;
    },
    fork_session: ({ session }) => {
      const { server, title } = this.of(session).header.row;
      return this.createSession(server, title, '');
    },
    compact_session: ({ session }) => {
      const before = this.of(session).header.context;
      const after = before === null ? null : { ...before, used: Math.round(before.used / 4) };
      this.updateHeader(session, { context: after });
      return { applied: true, summary: null, compressed: 40, kept: 6, before, after };
    },
    name_session: ({ session }) => {
      this.updateHeader(session, {}, { title: 'Named by its server' });
      return null;
    },
    ask_aside: ({ question }) => ({ answer: `About “${question}”: nothing special.` }),
    session_context: ({ session }) => this.of(session).header.context,
    complete_mention: ({ query }) =>
      this.mentions.filter((mention) => mention.token.toLowerCase().includes(query.toLowerCase())),
    export_session: ({ session }) => ({ path: `/home/you/Downloads/session-${session}.html`, bytes: 12_345 }),
    change_server_setting: ({ server, setting }) => {
      const old = this.servers.find((other) => other.id === server);
      if (old === undefined) throw refusal('not_found');
      const facts = { ...old.facts, [setting.kind]: setting.to };
      const rest = old.warnings.filter(
        (warning) => warning !== 'commands_not_asked' && warning !== 'commands_refused',
      );
      const asks = facts.permission === facts.asking_permission;
      this.putServer(server, { facts, warnings: asks ? rest : old.warnings });
      return null;
    },
    define_outcome: ({ session, description, rubric }) => {
      const goal = {
        id: '',
        description,
        rubric,
        iteration: null,
        verdict: null,
        explanation: null,
        evaluating: false,
      };
      this.updateHeader(session, { goals: [...this.of(session).header.goals, goal] });
      return null;
    },
    decide: (decision) => {
      const request = this.of(decision.session).requests.find((other) => other.id === decision.request);
      if (request === undefined) throw refusal('not_found');
      if (request.digest !== decision.digest) throw refusal('request_changed');
      if (request.state.kind !== 'open' && request.state.kind !== 'refused') throw refusal('request_settled');
      const all = decided(this.of(decision.session).requests, request, decision);
      for (const one of all) this.setRequest(one);
      return all.find((one) => one.id === request.id) ?? request;
    },
    waiting_requests: () =>
      [...this.sessions.values()].flatMap((session) =>
        session.requests.filter((request) => request.state.kind === 'open'),
      ),
    search_history: ({ text, server, offset, limit }) => {
      const hits = this.search(text, server);
      return {
        hits: hits.slice(offset, offset + limit),
        more: hits.length > offset + limit,
        index_behind: 0,
      };
    },
    connection_log: ({ session, limit }) => this.of(session).log.slice(-limit),
    decisions: ({ session, limit }) => this.of(session).decisions.slice(-limit),
    open_link: () => null,
    copy_text: () => null,
    report_page_error: () => null,
    page_ready: () => null,
    close_window: () => null,
  };
}

/** The row says what the header's options mean, as the engine has it. */
function marked(header: SessionHeader): SessionHeader {
  const unasked = unaskedMark(header) ?? undefined;
  return { ...header, row: { ...header.row, unasked } };
}

function textOf(item: Item): string {
  const body = item.body;
  if (body.kind === 'message')
    return body.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n');
  if (body.kind === 'tool') return body.command ?? body.input.text;
  return '';
}
