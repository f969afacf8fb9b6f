/** Where an `@` mention is being written in a text. Pure. */

export interface MentionAt {
  /** The place of the `@`. */
  readonly from: number;
  /** The caret, where what was typed so far ends. */
  readonly to: number;
  /** What stands behind the `@`. */
  readonly query: string;
}

/** Longer than any path that is still being typed. */
const MOST_QUERY = 200;

/**
 * The mention at the caret; `null` = none. An `@` begins one at the start or behind anything that is no part of a
 * word, so that an address of mail is none.
 */
export function mentionAt(text: string, caret: number): MentionAt | null {
  const before = text.slice(0, caret);
  const from = before.lastIndexOf('@');
  if (from < 0 || caret - from > MOST_QUERY) return null;
  const query = before.slice(from + 1);
  if (/\s/u.test(query)) return null;
  const previous = before.slice(0, from).at(-1);
  // Scripts without spaces between words write an `@` right behind a character.
  if (previous !== undefined && /[A-Za-z0-9_.+@-]/u.test(previous)) return null;
  return { from, to: caret, query };
}

/** The text with the mention completed, and where the caret goes. */
export function complete(
  text: string,
  mention: MentionAt,
  token: string,
): { readonly text: string; readonly caret: number } {
  const rest = text.slice(mention.to);
  const gap = /^\s/u.test(rest) ? '' : ' ';
  const done = `${text.slice(0, mention.from)}@${token}`;
  return { text: `${done}${gap}${rest}`, caret: done.length + 1 };
}
