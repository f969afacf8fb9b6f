/**
 * The page's state: the overview, the session that is open, which screen is shown. The engine owns every fact;
 * this only holds the last reading of it, and focus and route on top.
 */
import { getContext, setContext } from 'svelte';
import { asAppError, type Backend, type CloseAsked } from '$lib/backend/backend';
import type { AppError, Batch, Overview, Preferences, Server, ServerId, SessionId } from '$lib/contract';
import type { ChosenImage } from '$lib/composer/images';
import { setLanguage } from '$lib/i18n/i18n.svelte';
import { linkDoubt, type LinkDoubt } from '$lib/markdown/doubt';
import { Announcer } from './announce.svelte';
import { applyOverview, groupSessions } from './apply';
import { continuation, judge } from './sequence';
import { SessionView } from './session.svelte';
import { StopsRuns } from './stops-runs.svelte';

export type Screen = 'sessions' | 'history' | 'servers' | 'settings';

/** A dialog over the screens. One at a time. */
export type Sheet =
  | { kind: 'new_session'; server: ServerId | null }
  | { kind: 'scenarios' }
  | { kind: 'add_server' }
  | { kind: 'environment'; server: ServerId }
  | { kind: 'link'; doubt: LinkDoubt }
  | { kind: 'close'; asked: CloseAsked };

export interface Toast {
  id: number;
  text: string;
  error: AppError | null;
  /** Goes by itself; else it stands until dismissed. */
  passing: boolean;
}

const RELOAD_MS = 1000;

export class AppState {
  overview = $state.raw<Overview | null>(null);
  startError = $state.raw<AppError | null>(null);
  screen = $state.raw<Screen>('sessions');
  session = $state.raw<SessionView | null>(null);
  sheet = $state.raw<Sheet | null>(null);
  sidebarOpen = $state.raw(false);
  toasts = $state.raw<Toast[]>([]);
  /** The item a search hit points at, until the transcript has shown it. */
  target = $state.raw<string | null>(null);
  readonly announcer = new Announcer();
  readonly stops = new StopsRuns();
  readonly groups = $derived(groupSessions(this.overview?.sessions ?? []));
  readonly waiting = $derived((this.overview?.sessions ?? []).reduce((sum, row) => sum + row.waiting, 0));

  /** Images that were chosen for a session's next message and not sent. */
  readonly images = new Map<SessionId, ChosenImage[]>();
  private readonly drafts = new Map<SessionId, string>();
  private batch = 0;
  private reading = false;
  private subscribed = false;
  private early: Batch[] = [];
  private toastId = 0;

  constructor(readonly backend: Backend) {}

  /** Connects to the backend and reads everything. Called again by the person where it failed. */
  async start(): Promise<void> {
    try {
      if (this.subscribed) return await this.readOverview();
      void this.attempt(this.backend.onCloseAsked((asked) => (this.sheet = { kind: 'close', asked })));
      await this.backend.subscribe((batch) => this.take(batch));
      this.subscribed = true;
    } catch (error) {
      this.startError = asAppError(error);
      return;
    }
    // After the channel: a change between the two would be told to nobody.
    await this.readOverview();
  }

  server(id: ServerId): Server | undefined {
    return this.overview?.servers.find((server) => server.id === id);
  }

  /** Reads everything again: at the start, and whenever batches were missed. */
  async readOverview(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    try {
      const overview = await this.backend.call('overview', {});
      this.startError = null;
      this.show(overview);
      this.batch = overview.batch;
    } catch (error) {
      const failure = asAppError(error);
      if (this.overview === null) this.startError = failure;
      else setTimeout(() => void this.readOverview(), RELOAD_MS);
    } finally {
      this.reading = false;
    }
    const next = continuation(this.batch, this.early, (batch) => batch.number);
    this.early = [];
    for (const batch of next) this.take(batch);
  }

  /** Takes one batch in its turn; a hole reads the overview and the open session again. */
  take(batch: Batch): void {
    if (this.reading || this.overview === null) {
      this.early.push(batch);
      return;
    }
    const verdict = judge(this.batch, batch.number);
    if (verdict === 'stale') return;
    if (verdict === 'hole') {
      this.early.push(batch);
      void this.readOverview();
      void this.session?.read();
      return;
    }
    this.batch = batch.number;
    for (const patch of batch.patches) {
      if (patch.topic === 'session') {
        if (patch.session === this.session?.id) this.session.patch(patch.revision, patch.change);
      } else if (patch.change.kind === 'notice') {
        this.say({ text: patch.change.text, error: null, passing: false });
      } else {
        this.show(applyOverview(this.overview, patch.change));
      }
    }
  }

  openSession(id: SessionId, target: string | null = null): void {
    this.screen = 'sessions';
    this.sheet = null;
    this.sidebarOpen = false;
    this.target = target;
    if (this.session?.id === id) return;
    this.session?.close();
    this.session = new SessionView(this.backend, id);
    void this.session.read();
  }

  leaveSession(): void {
    this.session?.close();
    this.session = null;
  }

  go(screen: Screen): void {
    this.screen = screen;
    this.sidebarOpen = false;
  }

  /** What was typed for a session and not sent. */
  draft(id: SessionId): string {
    return this.drafts.get(id) ?? '';
  }

  keepDraft(id: SessionId, text: string): void {
    if (text === '') this.drafts.delete(id);
    else this.drafts.set(id, text);
  }

  async setPreferences(change: Partial<Preferences>): Promise<void> {
    if (this.overview === null) return;
    const preferences = { ...this.overview.facts.preferences, ...change };
    // Shown at once; where saving fails, the engine's own word puts it back.
    this.show({ ...this.overview, facts: { ...this.overview.facts, preferences } });
    await this.attempt(this.backend.call('set_preferences', preferences));
  }

  /** Waits for a command and tells its failure. `undefined` = it failed. */
  async attempt<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      this.fail(asAppError(error));
      return undefined;
    }
  }

  fail(error: AppError): void {
    this.say({ text: '', error, passing: false });
  }

  /** Tells what was done. It goes by itself: everything in it stands elsewhere too, or is of no use later. */
  tell(text: string): void {
    this.say({ text, error: null, passing: true });
  }

  private say(toast: Omit<Toast, 'id'>): void {
    this.toasts = [...this.toasts, { ...toast, id: (this.toastId += 1) }].slice(-3);
  }

  dismiss(id: number): void {
    this.toasts = this.toasts.filter((toast) => toast.id !== id);
  }

  /** Opens a link of the transcript, or asks first where its text or its host says something else than it opens. */
  followLink(url: string, text: string): void {
    const doubt = linkDoubt(url, text);
    if (doubt === null) this.openLink(url);
    else this.sheet = { kind: 'link', doubt };
  }

  openLink(url: string): void {
    void this.attempt(this.backend.call('open_link', { url }));
  }

  copy(text: string): Promise<boolean> {
    return this.attempt(this.backend.call('copy_text', { text })).then((done) => done !== undefined);
  }

  private show(overview: Overview): void {
    this.overview = overview;
    setLanguage(overview.facts.preferences.language);
  }
}

const KEY = Symbol('app');

export function provideApp(app: AppState): AppState {
  return setContext(KEY, app);
}

export function useApp(): AppState {
  return getContext<AppState>(KEY);
}
