/** How long a request still waits, counted here. Pure: the time is passed in. Nothing is answered because it ran out. */
import type { Request } from '$lib/contract';

/** The share of the whole time at whose beginning the person is warned (P-14). */
const LAST_SHARE = 0.2;

export interface Deadline {
  readonly phase: 'calm' | 'soon' | 'over';
  /** Milliseconds; 0 when over. */
  readonly left: number;
}

/** `null` = it waits for as long as it takes. */
export function deadlineOf(request: Pick<Request, 'asked_at' | 'deadline'>, now: number): Deadline | null {
  if (request.deadline === null) return null;
  const whole = request.deadline - request.asked_at;
  // The page's second hand may stand a moment before the request.
  const left = Math.min(request.deadline - now, whole);
  if (left <= 0) return { phase: 'over', left: 0 };
  return { phase: left <= whole * LAST_SHARE ? 'soon' : 'calm', left };
}
