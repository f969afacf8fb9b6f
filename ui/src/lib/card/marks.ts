/**
 * Makes what cannot be seen visible. Used for everything a person decides on: characters that are invisible,
 * that reorder the text around them, or that control a terminal are shown in place as their code points. Nothing
 * is left out: joining the raw text of all segments gives the input back, character for character.
 */
export type MarkKind = 'direction' | 'invisible' | 'control' | 'space';

export type Segment =
  | { readonly kind: 'text'; readonly raw: string }
  | { readonly kind: 'mark'; readonly raw: string; readonly code: string; readonly what: MarkKind };

interface Range {
  readonly from: number;
  readonly to: number;
  readonly what: MarkKind;
}

/** Sorted, without overlap. Line feed and tab are layout and stay as they are. */
const RANGES: readonly Range[] = [
  { from: 0x00, to: 0x08, what: 'control' },
  { from: 0x0b, to: 0x1f, what: 'control' },
  { from: 0x7f, to: 0x9f, what: 'control' },
  { from: 0xa0, to: 0xa0, what: 'space' },
  { from: 0xad, to: 0xad, what: 'invisible' },
  { from: 0x34f, to: 0x34f, what: 'invisible' },
  { from: 0x61c, to: 0x61c, what: 'direction' },
  { from: 0x115f, to: 0x1160, what: 'invisible' },
  { from: 0x1680, to: 0x1680, what: 'space' },
  { from: 0x17b4, to: 0x17b5, what: 'invisible' },
  { from: 0x180b, to: 0x180f, what: 'invisible' },
  { from: 0x2000, to: 0x200a, what: 'space' },
  { from: 0x200b, to: 0x200d, what: 'invisible' },
  { from: 0x200e, to: 0x200f, what: 'direction' },
  { from: 0x2028, to: 0x2029, what: 'control' },
  { from: 0x202a, to: 0x202e, what: 'direction' },
  { from: 0x202f, to: 0x202f, what: 'space' },
  { from: 0x205f, to: 0x205f, what: 'space' },
  { from: 0x2060, to: 0x2065, what: 'invisible' },
  { from: 0x2066, to: 0x2069, what: 'direction' },
  { from: 0x206a, to: 0x206f, what: 'invisible' },
  { from: 0x2800, to: 0x2800, what: 'invisible' },
  { from: 0x3164, to: 0x3164, what: 'invisible' },
  { from: 0xd800, to: 0xdfff, what: 'control' },
  { from: 0xe000, to: 0xf8ff, what: 'invisible' },
  { from: 0xfe00, to: 0xfe0f, what: 'invisible' },
  { from: 0xfeff, to: 0xfeff, what: 'invisible' },
  { from: 0xffa0, to: 0xffa0, what: 'invisible' },
  { from: 0xfff0, to: 0xfffb, what: 'invisible' },
  { from: 0x1d173, to: 0x1d17a, what: 'invisible' },
  { from: 0xe0000, to: 0xe0fff, what: 'invisible' },
  { from: 0xf0000, to: 0x10ffff, what: 'invisible' },
];

function kindOf(point: number): MarkKind | null {
  if (point > 0x1f && point < 0x7f) return null;
  for (const range of RANGES) {
    if (point < range.from) return null;
    if (point <= range.to) return range.what;
  }
  return null;
}

/** `U+202E`. */
export function codeOf(point: number): string {
  return `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Cuts a text into what can be shown as it is and what must be marked. */
export function markText(text: string): Segment[] {
  const segments: Segment[] = [];
  let start = 0;
  let at = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    const what = kindOf(point);
    if (what !== null) {
      if (at > start) segments.push({ kind: 'text', raw: text.slice(start, at) });
      segments.push({ kind: 'mark', raw: character, code: codeOf(point), what });
      start = at + character.length;
    }
    at += character.length;
  }
  if (at > start) segments.push({ kind: 'text', raw: text.slice(start, at) });
  return segments;
}

/** Each marked code point once, in the order of its first place. */
export function marksIn(segments: readonly Segment[]): { code: string; what: MarkKind }[] {
  const seen = new Map<string, MarkKind>();
  for (const segment of segments) {
    if (segment.kind === 'mark' && !seen.has(segment.code)) seen.set(segment.code, segment.what);
  }
  return [...seen].map(([code, what]) => ({ code, what }));
}

/** Lines as a person counts them: a line feed at the very end begins no line. */
export function countLines(text: string): number {
  if (text === '') return 0;
  let lines = text.endsWith('\n') ? 0 : 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}
