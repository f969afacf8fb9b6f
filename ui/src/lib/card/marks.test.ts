import { describe, expect, it } from 'vitest';
import { countLines, marksIn, markText } from './marks';

describe('markText', () => {
  it('shows a right-to-left override in place', () => {
    expect(markText('a\u202Eb')).toEqual([
      { kind: 'text', raw: 'a' },
      { kind: 'mark', raw: '\u202E', code: 'U+202E', what: 'direction' },
      { kind: 'text', raw: 'b' },
    ]);
  });

  it.each([
    ['zero-width space', '\u200B', 'U+200B', 'invisible'],
    ['byte-order mark', '\uFEFF', 'U+FEFF', 'invisible'],
    ['escape', '\u001B', 'U+001B', 'control'],
    ['carriage return', '\r', 'U+000D', 'control'],
    ['tag letter', '\u{E0041}', 'U+E0041', 'invisible'],
    ['variation selector of plane 14', '\u{E0100}', 'U+E0100', 'invisible'],
    ['no-break space', '\u00A0', 'U+00A0', 'space'],
    ['Hangul filler', '\u3164', 'U+3164', 'invisible'],
    ['line separator', '\u2028', 'U+2028', 'control'],
    ['isolate', '\u2066', 'U+2066', 'direction'],
    ['lone surrogate', '\uD800', 'U+D800', 'control'],
  ])('marks a %s', (_name, character, code, what) => {
    expect(markText(character)).toEqual([{ kind: 'mark', raw: character, code, what }]);
  });

  it('leaves Chinese, Arabic, emoji, tabs and line feeds as they are', () => {
    const text = '东京天气　ok\n\tسلام 🌤';
    expect(markText(text)).toEqual([{ kind: 'text', raw: text }]);
  });

  it('loses no character, whatever the text', () => {
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % below;
    };
    for (let round = 0; round < 200; round += 1) {
      const text = Array.from({ length: 60 }, () =>
        String.fromCodePoint(random(4) === 0 ? random(0x110000) : random(0x3000)),
      ).join('');
      expect(
        markText(text)
          .map((segment) => segment.raw)
          .join(''),
      ).toBe(text);
    }
  });

  it('names each marked character once', () => {
    expect(marksIn(markText('\u202Ea\u200B\u202E'))).toEqual([
      { code: 'U+202E', what: 'direction' },
      { code: 'U+200B', what: 'invisible' },
    ]);
  });
});

describe('countLines', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['a\n', 1],
    ['a\nb', 2],
    ['\n\n', 2],
  ])('counts %j as %i', (text, lines) => expect(countLines(text)).toBe(lines));
});
