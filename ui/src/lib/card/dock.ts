/**
 * Which request the card area shows. Pure. A card never changes into another one under the pointer: a settled one stays
 * where it is, readable for a while and for as long as the pointer is there, and what waits next stands above it.
 */
import type { Request } from '$lib/contract';

/** Still needs something: waits, is being written, on its way, or was refused and can be answered again. */
export function isUnsettled(request: Request): boolean {
  return ['announced', 'open', 'sending', 'refused'].includes(request.state.kind);
}

/** How long a settled card stays readable. What the person did themselves needs less time than what others did. */
export function lingerMs(request: Request, gone: boolean): number {
  if (request.state.kind === 'accepted' || request.state.kind === 'gathered') return 2000;
  return gone && isUnsettled(request) ? 4000 : 6000;
}

/** The request to show first: the oldest that can be answered, else the oldest unsettled one. */
export function firstToShow(requests: readonly Request[]): Request | null {
  return (
    requests.find((request) => request.state.kind === 'open' || request.state.kind === 'refused') ??
    requests.find(isUnsettled) ??
    null
  );
}

export interface Place {
  /** From 1; 0 when what is shown is not among those that wait. */
  readonly index: number;
  readonly count: number;
  readonly previous: string | null;
  readonly next: string | null;
}

/** Where the shown request stands among the unsettled ones. */
export function placeOf(requests: readonly Request[], shown: string): Place {
  const waiting = requests.filter(isUnsettled);
  const at = waiting.findIndex((request) => request.id === shown);
  if (at < 0) return { index: 0, count: waiting.length, previous: null, next: waiting[0]?.id ?? null };
  return {
    index: at + 1,
    count: waiting.length,
    previous: waiting[at - 1]?.id ?? null,
    next: waiting[at + 1]?.id ?? null,
  };
}

/** A change of this key makes a new card: another request, other bytes, or buttons that were not there before. */
export function cardKey(request: Request): string {
  return `${request.id}\u0000${request.digest}\u0000${request.state.kind === 'announced'}`;
}
