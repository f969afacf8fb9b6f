/**
 * Keeps numbered batches honest. A number that was seen is dropped, the next one is applied, and anything
 * further ahead is a hole: what is shown can no longer be trusted and must be read again.
 */
export type Verdict = 'apply' | 'stale' | 'hole';

/** What to do with number `incoming` after `last`. */
export function judge(last: number, incoming: number): Verdict {
  if (incoming <= last) return 'stale';
  return incoming === last + 1 ? 'apply' : 'hole';
}

/** Of what arrived while a fresh reading was on its way: the part that continues it without a hole, in order. */
export function continuation<T>(last: number, waiting: readonly T[], numberOf: (item: T) => number): T[] {
  const next: T[] = [];
  let expected = last + 1;
  for (const item of [...waiting].sort((a, b) => numberOf(a) - numberOf(b))) {
    if (numberOf(item) === expected) {
      next.push(item);
      expected += 1;
    }
  }
  return next;
}
