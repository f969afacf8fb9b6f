import { describe, expect, it } from 'vitest';
import { ansiSpans, plain, sanitise } from './ansi';

describe('ansi', () => {
  it('p33 keeps colours and weight', () => {
    expect(ansiSpans('\u001B[31;1mbad\u001B[0m ok')).toMatchObject([
      { text: 'bad', colour: 'red', bold: true },
      { text: ' ok', colour: null, bold: false },
    ]);
  });

  it('p33 drops cursor moves, titles, links and clipboard writes', () => {
    expect(
      plain(
        'a\u001B[2K\u001B[10;10Hb\u001B]0;title\u0007c\u001B]8;;https://x.example\u001B\\d\u001B]52;c;eA==\u0007e',
      ),
    ).toBe('abcde');
  });

  it('p33 collapses a progress line to its last state', () => {
    expect(sanitise('10%\r50%\r100%\ndone\r\n')).toBe('100%\ndone\n');
  });

  it('lets no escape through', () => {
    for (const text of ['\u001B', '\u001B[', '\u001B[31', '\u001B(B', 'x\u009B31my'])
      expect(plain(text)).not.toContain('\u001B');
  });
});
