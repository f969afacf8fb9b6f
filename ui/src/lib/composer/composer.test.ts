import { describe, expect, it } from 'vitest';
import { base64, mediaType, MOST_BYTES, readImage } from './images';
import { complete, mentionAt } from './mention';

describe('mentions', () => {
  it.each([
    ['@', 1, ''],
    ['look at @src/us', 15, 'src/us'],
    ['看看@源', 4, '源'],
    ['(@a', 3, 'a'],
    ['one\n@two', 8, 'two'],
  ])('%j is one at %d', (text, caret, query) => expect(mentionAt(text, caret)?.query).toBe(query));

  it.each([
    ['me@example.com', 14],
    ['@done and on', 12],
    ['no', 2],
    ['@@', 2],
    [`@${'x'.repeat(300)}`, 301],
  ])('%j is none at %d', (text, caret) => expect(mentionAt(text, caret)).toBeNull());

  it('are completed in place, with one space behind them', () => {
    const text = 'see @us and go';
    const at = mentionAt(text, 7);
    expect(at === null ? null : complete(text, at, 'src/users.py')).toEqual({
      text: 'see @src/users.py and go',
      caret: 18,
    });
    const end = mentionAt('@a', 2);
    expect(end === null ? null : complete('@a', end, 'a.md')).toEqual({ text: '@a.md ', caret: 6 });
  });
});

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3];

describe('images', () => {
  it('are known by their bytes', () => {
    const of = (...bytes: number[]) => mediaType(new Uint8Array(bytes));
    expect([
      of(...PNG),
      of(0xff, 0xd8, 0xff, 0xe0),
      of(0x47, 0x49, 0x46, 0x38, 0x39),
      of(0x52, 0x49, 0x46, 0x46, 0, 0, 0, 0, 0x57, 0x45, 0x42, 0x50),
      of(0x3c, 0x73, 0x76, 0x67),
      of(),
    ]).toEqual(['image/png', 'image/jpeg', 'image/gif', 'image/webp', null, null]);
  });

  it('keep every byte in base64', () => {
    const bytes = new Uint8Array(100_000).map((_value, index) => index % 256);
    const back = Uint8Array.from(atob(base64(bytes)), (char) => char.charCodeAt(0));
    expect(back).toEqual(bytes);
  });

  it('are refused where they are no image or too large, whatever the file says it is', async () => {
    const lie = new File(['<svg/>'], 'x.png', { type: 'image/png' });
    expect(await readImage(lie)).toEqual({ problem: 'type' });
    const large = new File([new Uint8Array(MOST_BYTES + 1)], 'x.png');
    expect(await readImage(large)).toEqual({ problem: 'size' });
    const good = await readImage(new File([new Uint8Array(PNG)], 'x.bin'));
    expect('image' in good && [good.image.media_type, good.image.name]).toEqual(['image/png', 'x.bin']);
  });
});
