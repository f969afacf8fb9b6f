/** Requests whose answers leave together: how many are decided, and where each stands. Pure. */
import type { Request } from '$lib/contract';

export interface Group {
  readonly members: readonly Request[];
  readonly decided: number;
}

/** Decided here: gathered, or on its way with the others. */
export const isDecided = (request: Request): boolean =>
  request.state.kind === 'gathered' || request.state.kind === 'sending' || request.state.kind === 'accepted';

/** The group of a request; `null` where it is answered alone. */
export function groupOf(requests: readonly Request[], shown: Request): Group | null {
  if (shown.group === undefined) return null;
  const members = requests.filter((request) => request.group === shown.group);
  if (members.length < 2) return null;
  return { members, decided: members.filter(isDecided).length };
}

/** Requests that wait for others of their group, or for the person. */
export const openInGroups = (requests: readonly Request[]): Request[] =>
  requests.filter(
    (request) => request.group !== undefined && ['open', 'refused', 'gathered'].includes(request.state.kind),
  );
