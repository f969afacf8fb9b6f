/**
 * Feeds the guard from the document: when the card is visible, when something around it moves, where the pointer
 * and the focus come from. One per card; a new request, or a changed one, gets a new card and a new aim.
 */
import { isIme } from '$lib/ime';
import {
  focusEntered,
  focusLeft,
  keyClick,
  keyDown,
  moved,
  pointerDown,
  pointerMoved,
  pointerUp,
  tabbed,
  untouched,
  visibility,
  windowActivated,
  type Guard,
  type Refusal,
} from './guard';

/** Where the pointer was last seen, whoever looked: tells a moved pointer from a page that moved under it. */
let pointerPlace: string | null = null;
/** The last move, and whether the pointer went anywhere by it: one answer for every card that hears of it. */
let lastMove: { readonly event: PointerEvent; readonly went: boolean } | null = null;

function went(event: PointerEvent): boolean {
  if (lastMove?.event === event) return lastMove.went;
  const place = `${event.screenX},${event.screenY}`;
  lastMove = { event, went: place !== pointerPlace };
  pointerPlace = place;
  return lastMove.went;
}

/** From a card's place over the dock to the parts of the session's screen. */
const AROUND = 2;
let windowActiveSince = Number.NEGATIVE_INFINITY;

if (typeof window !== 'undefined') {
  // Focus events of elements do not bubble up to here: only the window's own arrives.
  window.addEventListener('focus', () => (windowActiveSince = performance.now()));
}

export interface AimedButton {
  onpointerdown: (event: PointerEvent) => void;
  onpointerup: (event: PointerEvent) => void;
  onkeydown: (event: KeyboardEvent) => void;
  onclick: (event: MouseEvent) => void;
}

export class Aim {
  /** Why the last input did not count; told to the person. */
  refusal = $state.raw<Refusal | null>(null);
  private guard: Guard;
  private meant: string | null = null;
  private pressedInside = false;

  constructor(private readonly now: () => number = () => performance.now()) {
    this.guard = { ...untouched, windowActiveSince };
  }

  /** Watches a card from now on. Returns what ends it. */
  watch(card: HTMLElement): () => void {
    const off = new AbortController();
    const signal = off.signal;
    const see = (visible: boolean) =>
      (this.guard = visibility(this.guard, visible && document.visibilityState === 'visible', this.now()));
    let onScreen = true;
    see(true);
    document.addEventListener('visibilitychange', () => see(onScreen), { signal });

    const screen =
      typeof IntersectionObserver === 'undefined'
        ? null
        : new IntersectionObserver((entries) => {
            onScreen = entries.at(-1)?.isIntersecting ?? true;
            see(onScreen);
          });
    screen?.observe(card);

    // The card stands among other cards, and they between the transcript and the composer: it moves when one of them
    // changes its size, or goes.
    const layout =
      typeof ResizeObserver === 'undefined'
        ? null
        : new ResizeObserver(() => (this.guard = moved(this.guard, this.now())));
    layout?.observe(card);
    for (let around = card.parentElement, up = 0; around !== null && up < AROUND; up += 1) {
      for (const beside of around.parentElement?.children ?? []) layout?.observe(beside);
      around = around.parentElement;
    }

    window.addEventListener(
      'focus',
      (event) => {
        if (event.target === window) this.guard = windowActivated(this.guard, this.now());
      },
      { signal },
    );
    window.addEventListener(
      'pointermove',
      (event) => {
        if (went(event)) this.guard = pointerMoved(this.guard, this.now());
      },
      { capture: true, signal },
    );
    window.addEventListener(
      'keydown',
      (event) => {
        if (event.key === 'Tab') this.guard = tabbed(this.guard, this.now());
      },
      { capture: true, signal },
    );
    card.addEventListener(
      'pointerdown',
      (event) => {
        this.pressedInside = true;
        // A finger does not hover: its touch is its move.
        if (event.pointerType === 'touch') this.guard = pointerMoved(this.guard, this.now());
        setTimeout(() => (this.pressedInside = false), 0);
      },
      { capture: true, signal },
    );
    card.addEventListener(
      'focusin',
      (event) => {
        const from = event.relatedTarget;
        if (from instanceof Node && card.contains(from)) return;
        this.guard = focusEntered(this.guard, this.pressedInside, this.now());
      },
      { signal },
    );
    card.addEventListener(
      'focusout',
      (event) => {
        const to = event.relatedTarget;
        if (to instanceof Node && card.contains(to)) return;
        this.guard = focusLeft(this.guard);
      },
      { signal },
    );
    return () => {
      off.abort();
      screen?.disconnect();
      layout?.disconnect();
    };
  }

  /** The listeners of one button. `act` runs only for an input that was meant. */
  button(name: string, act: () => void): AimedButton {
    return {
      onpointerdown: (event) => {
        if (event.button === 0) this.guard = pointerDown(this.guard, name, this.now());
      },
      onpointerup: (event) => {
        if (event.button !== 0) return;
        const end = pointerUp(this.guard, name, this.now());
        this.guard = end.guard;
        this.meant = end.refusal === null ? name : null;
        this.refusal = end.refusal;
      },
      onkeydown: (event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        const down = keyDown(this.guard, name, { repeat: event.repeat, composing: isIme(event) }, this.now());
        this.guard = down.guard;
        if (down.refusal !== null) {
          this.refusal = down.refusal;
          event.preventDefault();
        }
      },
      onclick: (event) => {
        event.preventDefault();
        const byPointer = this.meant === name;
        this.meant = null;
        if (!byPointer) {
          const click = keyClick(this.guard, name);
          this.guard = click.guard;
          // A press that was refused has told its own reason already.
          if (event.detail === 0) this.refusal = click.refusal;
          if (click.refusal !== null) return;
        }
        this.refusal = null;
        act();
      },
    };
  }

  /** Whether an Enter in a field of this card was reached on purpose. */
  reached(): boolean {
    return this.guard.reached;
  }

  /** The person opened a form of this card by a meant input; its field took the focus from there. */
  handOver(): void {
    this.guard = { ...this.guard, reached: true };
  }
}
