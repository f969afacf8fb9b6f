/**
 * The completions of the mention that is being written. Asked for a little after the last key; an answer that comes
 * for something else than what stands there now is dropped.
 */
import type { Mention } from '$lib/contract';
import { isIme, type ImeWatch } from '$lib/ime';
import { mentionAt, type MentionAt } from './mention';

const PAUSE_MS = 120;

type Key = Pick<KeyboardEvent, 'key' | 'isComposing' | 'keyCode' | 'shiftKey' | 'preventDefault'> &
  Pick<Event, 'stopPropagation'>;

export class Mentions {
  rows = $state.raw<Mention[]>([]);
  index = $state.raw(0);
  private at = $state.raw<MentionAt | null>(null);
  /** The place of an `@` whose completions the person closed. */
  private closed: number | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  readonly open = $derived(this.at !== null && this.rows.length > 0);

  constructor(private readonly ask: (query: string) => Promise<Mention[]>) {}

  /** The text or the caret changed. */
  look(text: string, caret: number): void {
    const at = mentionAt(text, caret);
    if (at === null || at.from !== this.closed) this.closed = null;
    if (at === null || this.closed !== null) {
      this.stop();
      return;
    }
    const same = this.at?.from === at.from && this.at.query === at.query;
    this.at = at;
    if (same) return;
    // What is shown already stays while it fits, so that the list does not flicker.
    this.show(
      this.rows.filter((row) => matches(row, at.query)),
      at,
    );
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.read(at), PAUSE_MS);
  }

  /** `true` = the key was the list's. `choose` gets the row that was taken. */
  key(event: Key, ime: ImeWatch, choose: (row: Mention, at: MentionAt) => void): boolean {
    if (!this.open || isIme(event) || ime.justEnded()) return false;
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp': {
        const by = event.key === 'ArrowDown' ? 1 : this.rows.length - 1;
        this.index = (this.index + by) % this.rows.length;
        break;
      }
      case 'Enter':
      case 'Tab':
        if (event.shiftKey) return false;
        this.take(this.index, choose);
        break;
      case 'Escape':
        this.dismiss();
        break;
      default:
        return false;
    }
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  take(index: number, choose: (row: Mention, at: MentionAt) => void): void {
    const row = this.rows[index];
    const at = this.at;
    if (row === undefined || at === null) return;
    this.closed = at.from;
    this.stop();
    choose(row, at);
  }

  /** Closed by the person: it stays closed for this `@`. */
  dismiss(): void {
    this.closed = this.at?.from ?? null;
    this.stop();
  }

  /** Nothing is being mentioned any more. */
  stop(): void {
    clearTimeout(this.timer);
    this.at = null;
    this.rows = [];
    this.index = 0;
  }

  private async read(at: MentionAt): Promise<void> {
    let rows: Mention[];
    try {
      rows = await this.ask(at.query);
    } catch {
      // Without completions the path can still be typed.
      rows = [];
    }
    if (this.at?.from === at.from && this.at.query === at.query) this.show(rows, at);
  }

  private show(rows: Mention[], at: MentionAt): void {
    const seen = new Set<string>();
    const each = rows.filter((row) => !seen.has(row.token) && seen.add(row.token).size > 0);
    // What is written out already needs no completion: Enter sends it.
    const done = each.length === 1 && each[0]?.token === at.query;
    this.rows = done ? [] : each;
    this.index = Math.min(this.index, Math.max(0, this.rows.length - 1));
  }
}

function matches(row: Mention, query: string): boolean {
  const wanted = query.toLowerCase();
  return row.token.toLowerCase().includes(wanted) || row.name.toLowerCase().includes(wanted);
}
