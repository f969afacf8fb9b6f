/** The diff an edit tool's arguments describe. Reads common spellings; anything else is shown as arguments. */
import { diffLines } from 'diff';

export interface DiffLine {
  readonly kind: 'same' | 'add' | 'del';
  /** The line's number within the old text for `del`, within the new one otherwise, from 1. */
  readonly number: number;
  readonly text: string;
}

export interface Edit {
  readonly path: string | null;
  readonly lines: readonly DiffLine[];
  readonly added: number;
  readonly removed: number;
}

const OLD_KEYS = ['old_string', 'old_str', 'oldText', 'old_text'];
const NEW_KEYS = ['new_string', 'new_str', 'newText', 'new_text'];
const PATH_KEYS = ['file_path', 'path', 'filename', 'file'];
/** Unchanged lines kept around a change. */
const CONTEXT = 3;
/** Past this size a diff is not worth its time: the arguments are shown instead. */
const MAX_CHARS = 200_000;

function stringAt(object: Record<string, unknown>, keys: readonly string[]): string | null {
  for (const key of keys) {
    const value = object[key];
    if (typeof value === 'string') return value;
  }
  return null;
}

/** The edit that the arguments (JSON text) describe, or `null`. */
export function editOf(input: string): Edit | null {
  if (input.length > MAX_CHARS) return null;
  let parsed: unknown;
  try {
    parsed = JSON.parse(input);
  } catch {
    return null;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return null;
  const object = parsed as Record<string, unknown>;
  const before = stringAt(object, OLD_KEYS);
  const after = stringAt(object, NEW_KEYS);
  if (before === null || after === null) return null;
  return { path: stringAt(object, PATH_KEYS), ...linesOf(before, after) };
}

function linesOf(before: string, after: string): Omit<Edit, 'path'> {
  const lines: DiffLine[] = [];
  let oldNumber = 1;
  let newNumber = 1;
  let added = 0;
  let removed = 0;
  // A last line without its line feed is still a line: it must not count as changed.
  const whole = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
  for (const change of diffLines(whole(before), whole(after))) {
    for (const text of change.value.replace(/\n$/, '').split('\n')) {
      if (change.added) {
        lines.push({ kind: 'add', number: newNumber++, text });
        added += 1;
      } else if (change.removed) {
        lines.push({ kind: 'del', number: oldNumber++, text });
        removed += 1;
      } else {
        lines.push({ kind: 'same', number: newNumber++, text });
        oldNumber += 1;
      }
    }
  }
  return { lines: nearChanges(lines), added, removed };
}

function nearChanges(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  lines.forEach((line, index) => {
    if (line.kind === 'same') return;
    for (let at = index - CONTEXT; at <= index + CONTEXT; at += 1) near.add(at);
  });
  return lines.filter((_line, index) => near.has(index));
}
