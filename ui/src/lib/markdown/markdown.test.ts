import { describe, expect, it } from 'vitest';
import { BlockReader } from './blocks';
import { decodeEntities, isOfferedLink } from './inline';

const SAMPLE =
  '# Plan\n\nFirst **bold** words.\n\n- one\n- two\n\n- three\n\n```py\nx = 1\n\ny = 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nLast `code` and [link](https://example.com/).\n';

describe('BlockReader', () => {
  it('p29 finished blocks keep their identity while text streams', () => {
    const reader = new BlockReader();
    let before = reader.read('', true);
    for (let end = 1; end <= SAMPLE.length; end += 1) {
      const now = reader.read(SAMPLE.slice(0, end), true);
      const settled = before.slice(0, Math.max(0, before.length - 2));
      settled.forEach((block, index) => expect(now[index]).toBe(block));
      before = now;
    }
  });

  it('any streaming ends in the blocks of the whole text', () => {
    const whole = new BlockReader().read(SAMPLE, false).map((block) => [block.token.type, block.raw]);
    for (const step of [1, 3, 7, 50]) {
      const reader = new BlockReader();
      for (let end = 0; end < SAMPLE.length; end += step) reader.read(SAMPLE.slice(0, end), true);
      expect(reader.read(SAMPLE, false).map((block) => [block.token.type, block.raw])).toEqual(whole);
    }
  });

  it('closes open marks while text streams', () => {
    const [block] = new BlockReader().read('some **bol', true);
    expect(block?.token.raw).toBe('some **bol**');
  });

  it('never skips a heading level', () => {
    const levels = new BlockReader()
      .read('### deep\n\n# top\n\n##### deeper\n', false)
      .map((block) => block.level);
    expect(levels).toEqual([3, 3, 4]);
  });
});

describe('inline', () => {
  it('resolves known character references only', () => {
    expect(decodeEntities('a &amp; b &#20140; &#x4eac; &bogus; &#xD800;')).toBe(
      'a & b 京 京 &bogus; &#xD800;',
    );
  });

  it.each([
    ['https://example.com/', true],
    ['mailto:a@example.com', true],
    ['javascript:alert(1)', false],
    ['file:///etc/passwd', false],
    ['//example.com', false],
    ['data:text/html,x', false],
  ])('s07 offers %s: %s', (address, offered) => expect(isOfferedLink(address)).toBe(offered));
});
