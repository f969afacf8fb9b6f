/** Small pure parts of drawing Markdown: character references, and which links can be offered at all. */

const NAMED: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00A0',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  copy: '©',
};

/** Resolves character references; what is not known stays as it was written. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/g,
    (whole, decimal, hex, name) => {
      if (name !== undefined) return NAMED[name] ?? whole;
      const point = decimal !== undefined ? Number.parseInt(decimal, 10) : Number.parseInt(hex, 16);
      return point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff)
        ? String.fromCodePoint(point)
        : whole;
    },
  );
}

/** Whether an address can be offered as a link. The engine checks again before it opens anything. */
export function isOfferedLink(address: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(address.trim());
}
