/** Requests whose answers leave together: how many are decided, and where each stands. Pure. */
import type { Choice, Request } from '$lib/contract';

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

/** What waits of a group and can be refused, each with the choice that refuses it. Allowing has no such short way. */
export function refusable(group: Group): { readonly request: Request; readonly choice: Choice }[] {
  return group.members.flatMap((request) => {
    if (request.state.kind !== 'open' && request.state.kind !== 'refused') return [];
    const choice = request.choices.find((one) => one.kind === 'deny' || one.kind === 'decline');
    return choice === undefined ? [] : [{ request, choice }];
  });
}

/** Requests that wait for others of their group, or for the person. */
export const openInGroups = (requests: readonly Request[]): Request[] =>
  requests.filter(
    (request) => request.group !== undefined && ['open', 'refused', 'gathered'].includes(request.state.kind),
  );
