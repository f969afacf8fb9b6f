/**
 * Enter and input methods. An Enter that ends a composition arrives, depending on the engine, while composing,
 * with key code 229, or just after the composition has ended: none of these is the person's Enter.
 */
export interface ImeWatch {
  /** A composition ended in this very turn of the event loop. */
  readonly justEnded: () => boolean;
  /** Spread onto the field. */
  readonly attributes: {
    oncompositionstart: () => void;
    oncompositionend: () => void;
  };
}

/** `later` runs its argument after the events of this turn. */
export function imeWatch(later: (work: () => void) => void = (work) => setTimeout(work, 0)): ImeWatch {
  let composing = false;
  let ended = 0;
  return {
    justEnded: () => composing || ended > 0,
    attributes: {
      oncompositionstart: () => {
        composing = true;
      },
      oncompositionend: () => {
        composing = false;
        ended += 1;
        later(() => (ended -= 1));
      },
    },
  };
}

type KeyLike = Pick<KeyboardEvent, 'key' | 'isComposing' | 'keyCode'>;

/** Whether a key belongs to the input method. */
export function isIme(event: Pick<KeyboardEvent, 'isComposing' | 'keyCode'>): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** Whether this Enter only ends a composition. */
export function isImeEnter(event: KeyLike, watch: ImeWatch): boolean {
  return event.key === 'Enter' && (isIme(event) || watch.justEnded());
}

/** Whether this Enter sends: no Shift, no input method. */
export function isSendingEnter(event: KeyLike & Pick<KeyboardEvent, 'shiftKey'>, watch: ImeWatch): boolean {
  return event.key === 'Enter' && !event.shiftKey && !isImeEnter(event, watch);
}
