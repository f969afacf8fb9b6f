/**
 * Pure application of patches to plain values. Inputs are never changed: lists that change are new lists, and
 * what did not change keeps its identity, so the page redraws only what differs.
 */
import type { Item, LedgerRow, Overview, OverviewChange, Request, SessionRow } from '$lib/contract';

/** The overview after one change. Notices are no part of it: they are told, not kept. */
export function applyOverview(overview: Overview, change: OverviewChange): Overview {
  switch (change.kind) {
    case 'servers':
      return { ...overview, servers: change.servers };
    case 'session':
      return { ...overview, sessions: upsert(overview.sessions, change.row, (row) => row.id) };
    case 'session_gone':
      return { ...overview, sessions: overview.sessions.filter((row) => row.id !== change.session) };
    case 'facts':
      return { ...overview, facts: change.facts };
    case 'notice':
      return overview;
  }
}

/** Replaces the element with the same key, else appends. */
export function upsert<T>(list: readonly T[], value: T, key: (value: T) => unknown): T[] {
  const wanted = key(value);
  const at = list.findIndex((other) => key(other) === wanted);
  return at < 0 ? [...list, value] : list.with(at, value);
}

/** Items are shown in rising order, ties by id. */
export function compareItems(a: Pick<Item, 'order' | 'id'>, b: Pick<Item, 'order' | 'id'>): number {
  return a.order - b.order || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** Where an item belongs in a sorted list. Most belong at the end, so that is looked at first. */
export function placeOf(
  list: readonly Pick<Item, 'order' | 'id'>[],
  item: Pick<Item, 'order' | 'id'>,
): number {
  let low = 0;
  let high = list.length;
  const last = list.at(-1);
  if (last === undefined || compareItems(last, item) < 0) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = list[middle];
    if (other !== undefined && compareItems(other, item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Requests in the order in which they were asked, ties by id, so that the card area never reshuffles. */
export function withRequest(list: readonly Request[], request: Request): Request[] {
  return upsert(list, request, (other) => other.id).sort(
    (a, b) => a.asked_at - b.asked_at || (a.id < b.id ? -1 : 1),
  );
}

/** The ledger's rows, oldest first, at most `cap` of them. */
export function withDecision(list: readonly LedgerRow[], row: LedgerRow, cap: number): LedgerRow[] {
  return upsert(list, row, (other) => other.number)
    .sort((a, b) => a.number - b.number)
    .slice(-cap);
}

export interface Groups {
  needsYou: SessionRow[];
  running: SessionRow[];
  idle: SessionRow[];
}

/** The sidebar's three groups, each with the most recently active first. */
export function groupSessions(sessions: readonly SessionRow[]): Groups {
  const groups: Groups = { needsYou: [], running: [], idle: [] };
  for (const row of sessions) {
    if (row.waiting > 0 || row.state.kind === 'waiting') groups.needsYou.push(row);
    else if (['running', 'rescheduling', 'stopping'].includes(row.state.kind)) groups.running.push(row);
    else groups.idle.push(row);
  }
  const recent = (row: SessionRow) => row.last_event_at ?? row.created_at ?? 0;
  for (const group of [groups.needsYou, groups.running, groups.idle])
    group.sort((a, b) => recent(b) - recent(a) || a.id - b.id);
  return groups;
}
