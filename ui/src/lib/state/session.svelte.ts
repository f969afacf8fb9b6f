/**
 * One open session: its snapshot, and the patches that followed. A hole in the revisions, or a change that does
 * not fit what is held, asks for a new snapshot; patches that arrive meanwhile wait for it.
 */
import type { Backend } from '$lib/backend/backend';
import { asAppError } from '$lib/backend/backend';
import type {
  AppError,
  ConnectionLogRow,
  ConnectionState,
  LedgerRow,
  Request,
  SessionChange,
  SessionHeader,
  SessionId,
  Snapshot,
} from '$lib/contract';
import { compareItems, placeOf, withDecision, withRequest } from './apply';
import { ItemCell } from './cell.svelte';
import { continuation, judge } from './sequence';

/** Items asked for when the reader scrolls up. */
const OLDER_ITEMS = 200;
/** Items asked for at once, and how often, to reach back to where the reader was. Beyond that the place is given up. */
const REACH_ITEMS = 500;
const REACH_PAGES = 20;
/** Rows kept of the connection log and of the ledger. */
const LOG_ROWS = 200;

/**
 * Whether what is shown of a session may be out of date: its stream is down, or not up yet. Where a stream lasts as
 * long as a run (`reattach` is false), none between runs is as it should be, and one that opens begins something new.
 */
export function isStale(connection: ConnectionState, reattach = true): boolean {
  if (connection.kind === 'connecting') return reattach || connection.attempt > 0;
  return ['waiting', 'unauthorized', 'forbidden', 'paused', 'full'].includes(connection.kind);
}

interface Waiting {
  revision: number;
  change: SessionChange;
}

export class SessionView {
  readonly id: SessionId;
  header = $state.raw<SessionHeader | null>(null);
  items = $state.raw<ItemCell[]>([]);
  requests = $state.raw<Request[]>([]);
  connectionLog = $state.raw<ConnectionLogRow[]>([]);
  decisions = $state.raw<LedgerRow[]>([]);
  hasOlder = $state.raw(false);
  loadingOlder = $state.raw(false);
  error = $state.raw<AppError | null>(null);
  /** Counts whole re-readings, so that the transcript knows its list is a new one. */
  generation = $state.raw(0);

  private revision = 0;
  private reading = false;
  private waiting: Waiting[] = [];
  private byId = new Map<string, ItemCell>();
  private closed = false;

  constructor(
    private readonly backend: Backend,
    id: SessionId,
  ) {
    this.id = id;
  }

  /** Reads the session as it is now. Called once at first, and again whenever patches were missed. */
  async read(): Promise<void> {
    if (this.reading || this.closed) return;
    this.reading = true;
    try {
      const snapshot = await this.backend.call('open_session', { session: this.id });
      const reached = await this.reachBack(snapshot);
      this.error = null;
      this.take(reached);
    } catch (error) {
      this.error = asAppError(error);
    } finally {
      this.reading = false;
    }
    const next = continuation(this.revision, this.waiting, (patch) => patch.revision);
    this.waiting = [];
    for (const patch of next) this.patch(patch.revision, patch.change);
  }

  /** Takes one patch in its turn. */
  patch(revision: number, change: SessionChange): void {
    if (this.reading || this.header === null) {
      this.waiting.push({ revision, change });
      return;
    }
    const verdict = judge(this.revision, revision);
    if (verdict === 'stale') return;
    if (verdict === 'hole' || !this.apply(change)) {
      this.waiting.push({ revision, change });
      void this.read();
      return;
    }
    this.revision = revision;
  }

  /** Older items, for scrolling up. */
  async readOlder(): Promise<void> {
    const first = this.items[0];
    if (!this.hasOlder || this.loadingOlder || this.reading || first === undefined) return;
    this.loadingOlder = true;
    const generation = this.generation;
    try {
      const page = await this.backend.call('read_items', {
        session: this.id,
        before: first.id,
        limit: OLDER_ITEMS,
      });
      if (generation !== this.generation) return;
      const older = page.items
        .filter((item) => !this.byId.has(item.id))
        .map((item) => this.keep(item.id, new ItemCell(item)));
      this.items = [...older, ...this.items].sort(compareItems);
      this.hasOlder = page.has_older && older.length > 0;
    } catch (error) {
      this.error = asAppError(error);
    } finally {
      this.loadingOlder = false;
    }
  }

  /**
   * Takes a request's new state from an answer to a command, ahead of its patch. Answers and patches come by two
   * roads: where the patches were faster, the request is past being open, and the answer is old.
   */
  settle(request: Request): void {
    if (this.requests.some((other) => other.id === request.id && other.state.kind === 'open')) {
      this.requests = withRequest(this.requests, request);
    }
  }

  close(): void {
    this.closed = true;
    // Nothing shown depends on it: where it fails, patches for this session are simply dropped here.
    this.backend.call('close_session', { session: this.id }).catch(() => undefined);
  }

  /**
   * A snapshot holds the newest items alone. What the reader had scrolled up to is read again behind it before
   * anything is replaced, so that the place stays.
   */
  private async reachBack(snapshot: Snapshot): Promise<Snapshot> {
    const oldest = this.items[0]?.id;
    let { items, has_older } = snapshot;
    const short = () => has_older && !items.some((item) => item.id === oldest);
    for (let page = 0; page < REACH_PAGES && oldest !== undefined && short(); page += 1) {
      const before = items[0]?.id;
      if (before === undefined) break;
      const older = await this.backend.call('read_items', {
        session: this.id,
        before,
        limit: REACH_ITEMS,
      });
      items = [...older.items, ...items];
      has_older = older.has_older && older.items.length > 0;
    }
    return short() ? snapshot : { ...snapshot, items, has_older };
  }

  private take(snapshot: Snapshot): void {
    const known = this.byId;
    this.byId = new Map();
    this.items = snapshot.items
      .map((item) => {
        const cell = known.get(item.id);
        cell?.replace(item);
        return this.keep(item.id, cell ?? new ItemCell(item));
      })
      .sort(compareItems);
    this.header = snapshot.header;
    this.requests = [...snapshot.requests].reduce<Request[]>(withRequest, []);
    this.connectionLog = snapshot.connection_log.slice(-LOG_ROWS);
    this.decisions = snapshot.decisions.reduce<LedgerRow[]>(
      (list, row) => withDecision(list, row, LOG_ROWS),
      [],
    );
    this.hasOlder = snapshot.has_older;
    this.revision = snapshot.revision;
    this.generation += 1;
  }

  private keep(id: string, cell: ItemCell): ItemCell {
    this.byId.set(id, cell);
    return cell;
  }

  /** `false` = the change does not fit what is held. */
  private apply(change: SessionChange): boolean {
    switch (change.kind) {
      case 'header':
        this.header = change.header;
        return true;
      case 'item': {
        const cell = this.byId.get(change.item.id);
        if (cell !== undefined) {
          const moved = cell.order !== change.item.order;
          cell.replace(change.item);
          if (moved) this.items = [...this.items].sort(compareItems);
        } else {
          const fresh = this.keep(change.item.id, new ItemCell(change.item));
          this.items = this.items.toSpliced(placeOf(this.items, change.item), 0, fresh);
        }
        return true;
      }
      case 'append':
        return this.byId.get(change.item)?.append(change.part, change.text) ?? false;
      case 'item_gone':
        if (this.byId.delete(change.item)) this.items = this.items.filter((cell) => cell.id !== change.item);
        return true;
      case 'request':
        this.requests = withRequest(this.requests, change.request);
        return true;
      case 'request_gone':
        this.requests = this.requests.filter((request) => request.id !== change.request);
        return true;
      case 'connection':
        this.connectionLog = [...this.connectionLog, change.row].slice(-LOG_ROWS);
        return true;
      case 'decision':
        this.decisions = withDecision(this.decisions, change.row, LOG_ROWS);
        return true;
      case 'reset':
        return false;
    }
  }
}
