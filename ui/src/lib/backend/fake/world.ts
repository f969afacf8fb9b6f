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
  Item,
  LedgerRow,
  Mention,
  NewSessionOptions,
  OverviewChange,
  Patch,
  Request,
  ScenarioRow,
  Server,
  SessionChange,
  SessionHeader,
  SessionId,
  SessionRow,
} from '$lib/contract';
import type { Backend, CloseAsked, CommandName } from '../backend';
import { unaskedMark } from '$lib/run-options';
import { appAnswers } from './answers/app';
import { serverAnswers } from './answers/servers';
import { sessionAnswers } from './answers/sessions';
import { talkAnswers } from './answers/talk';

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

/** An answer to every command. */
export type Handlers = { [K in CommandName]: (args: Commands[K]['args']) => Commands[K]['result'] };

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
  /** The number of the last batch that was sent. */
  lastNumber = 0;
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
    this.lastNumber += 1 + skip;
    this.send?.({ number: this.lastNumber, patches: structuredClone(patches) });
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

  private readonly handlers: Handlers = {
    ...appAnswers(this),
    ...serverAnswers(this),
    ...sessionAnswers(this),
    ...talkAnswers(this),
  };
}

/** The row says what the header's options mean, as the engine has it. */
function marked(header: SessionHeader): SessionHeader {
  const unasked = unaskedMark(header) ?? undefined;
  return { ...header, row: { ...header.row, unasked } };
}
