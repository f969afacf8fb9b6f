/**
 * Decides whether an input on a request card was meant. Pure: every function takes the state and the time (in
 * milliseconds of one steady clock) and returns the next state or an answer.
 *
 * A click counts when pointer-down and pointer-up hit the same button, the card was drawn 500 ms and still for
 * 300 ms, the pointer moved after the card appeared, and the click did not also activate the window. A key
 * counts when the person moved the focus into this card, and the card has been drawn 500 ms.
 */

/** How long a card must have been visible before it takes any input. */
export const VISIBLE_MS = 500;
/** How long nothing may have moved. */
export const STILL_MS = 300;
/** A press this soon after the window became active is the click that activated it. */
export const ACTIVATION_MS = 300;
/** A focus change this soon after Tab was caused by it. */
export const TAB_MS = 200;

export interface Guard {
  /** Since when the card is visible without a break; `null` = it is not. */
  readonly visibleSince: number | null;
  /** When the card or what stands around it last moved or changed its size. */
  readonly movedAt: number;
  /** When the pointer last moved since the card became visible. */
  readonly pointerMovedAt: number | null;
  /** When the window last became active. */
  readonly windowActiveSince: number;
  /** The button that a meant pointer-down hit. */
  readonly pressed: string | null;
  /** When the person last pressed Tab. */
  readonly tabAt: number | null;
  /** The person moved the focus into this card. */
  readonly reached: boolean;
  /** The button on which a meant key went down. */
  readonly keyed: string | null;
}

/** Why an input does not count. */
export type Refusal =
  'too_soon' | 'moving' | 'pointer_still' | 'window_activated' | 'not_reached' | 'other_button';

export const untouched: Guard = {
  visibleSince: null,
  movedAt: Number.NEGATIVE_INFINITY,
  pointerMovedAt: null,
  windowActiveSince: Number.NEGATIVE_INFINITY,
  pressed: null,
  tabAt: null,
  reached: false,
  keyed: null,
};

export function visibility(guard: Guard, visible: boolean, now: number): Guard {
  if (!visible) return { ...guard, visibleSince: null, pointerMovedAt: null, pressed: null, keyed: null };
  return guard.visibleSince === null ? { ...guard, visibleSince: now, pointerMovedAt: null } : guard;
}

export function moved(guard: Guard, now: number): Guard {
  return { ...guard, movedAt: now, pressed: null };
}

export function windowActivated(guard: Guard, now: number): Guard {
  return { ...guard, windowActiveSince: now, pressed: null, keyed: null };
}

export function pointerMoved(guard: Guard, now: number): Guard {
  return guard.visibleSince === null ? guard : { ...guard, pointerMovedAt: now };
}

/** Tab went down anywhere in the window. */
export function tabbed(guard: Guard, now: number): Guard {
  return { ...guard, tabAt: now };
}

/** The focus came into the card. It counts as the person's move when Tab or a press inside the card caused it. */
export function focusEntered(guard: Guard, pressedInside: boolean, now: number): Guard {
  const byTab = guard.tabAt !== null && now - guard.tabAt <= TAB_MS;
  return { ...guard, reached: byTab || pressedInside };
}

export function focusLeft(guard: Guard): Guard {
  return { ...guard, reached: false, keyed: null };
}

/** Why a press now would not count; `null` = it would. */
export function pointerRefusal(guard: Guard, now: number): Refusal | null {
  if (guard.visibleSince === null || now - guard.visibleSince < VISIBLE_MS) return 'too_soon';
  if (now - guard.windowActiveSince < ACTIVATION_MS) return 'window_activated';
  if (now - guard.movedAt < STILL_MS) return 'moving';
  if (guard.pointerMovedAt === null) return 'pointer_still';
  return null;
}

export function pointerDown(guard: Guard, button: string, now: number): Guard {
  return { ...guard, pressed: pointerRefusal(guard, now) === null ? button : null };
}

/** Ends a press. `refusal` is `null` when the click counts. */
export function pointerUp(
  guard: Guard,
  button: string,
  now: number,
): { guard: Guard; refusal: Refusal | null } {
  const refusal = pointerRefusal(guard, now) ?? (guard.pressed === button ? null : 'other_button');
  return { guard: { ...guard, pressed: null }, refusal };
}

/** A key that presses buttons went down on one. Repeats of a held key and keys of an input method never count. */
export function keyDown(
  guard: Guard,
  button: string,
  key: { repeat: boolean; composing: boolean },
  now: number,
): { guard: Guard; refusal: Refusal | null } {
  const early = guard.visibleSince === null || now - guard.visibleSince < VISIBLE_MS;
  const refusal: Refusal | null = early
    ? 'too_soon'
    : !guard.reached || key.repeat || key.composing
      ? 'not_reached'
      : null;
  return { guard: { ...guard, keyed: refusal === null ? button : null }, refusal };
}

/** The button was activated without a pointer. Counts only after a meant key went down on the same button. */
export function keyClick(guard: Guard, button: string): { guard: Guard; refusal: Refusal | null } {
  const refusal: Refusal | null = guard.reached && guard.keyed === button ? null : 'not_reached';
  return { guard: { ...guard, keyed: null }, refusal };
}
