/**
 * What was written and not sent, kept over a restart of the app. Only drafts: every fact is the engine's. Where the
 * web view keeps nothing (or is full), they live as long as the page.
 */
const PREFIX = 'draft:';
/** Drafts kept at most; the oldest go first. */
const MOST_KEPT = 200;

interface Kept {
  readonly at: number;
  readonly value: unknown;
}

function storage(): Storage | null {
  try {
    return typeof localStorage === 'undefined' ? null : localStorage;
  } catch {
    return null;
  }
}

function ours(store: Storage): string[] {
  const names = Array.from({ length: store.length }, (_value, index) => store.key(index));
  return names.filter((name): name is string => name?.startsWith(PREFIX) === true);
}

function read(store: Storage, name: string): Kept | null {
  try {
    const kept: unknown = JSON.parse(store.getItem(name) ?? 'null');
    return typeof kept === 'object' && kept !== null && 'at' in kept && 'value' in kept
      ? (kept as Kept)
      : null;
  } catch {
    return null;
  }
}

/** What was kept under this key; `undefined` = nothing. Its shape is for the caller to check. */
export function kept(key: string): unknown {
  const store = storage();
  return store === null ? undefined : read(store, PREFIX + key)?.value;
}

/** Keeps a draft; `null` forgets it. */
export function keep(key: string, value: unknown, now: number = Date.now()): void {
  const store = storage();
  if (store === null) return;
  try {
    if (value === null) {
      store.removeItem(PREFIX + key);
      return;
    }
    store.setItem(PREFIX + key, JSON.stringify({ at: now, value } satisfies Kept));
    const names = ours(store);
    if (names.length <= MOST_KEPT) return;
    const byAge = names.sort((a, b) => (read(store, a)?.at ?? 0) - (read(store, b)?.at ?? 0));
    for (const name of byAge.slice(0, names.length - MOST_KEPT)) store.removeItem(name);
  } catch {
    // A full store refuses the draft; it is still on the screen.
  }
}
