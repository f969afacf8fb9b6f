import { afterEach, describe, expect, it } from 'vitest';
import { keep, kept } from './kept';

afterEach(() => localStorage.clear());

describe('kept drafts', () => {
  it('p36 are there again after a restart, until they are forgotten', () => {
    keep('a', { text: 'half' });
    expect(kept('a')).toEqual({ text: 'half' });
    keep('a', null);
    expect([kept('a'), localStorage.length]).toEqual([undefined, 0]);
  });

  it('give up the oldest beyond their number, and nothing that is not theirs', () => {
    localStorage.setItem('other', 'stays');
    for (let at = 0; at < 201; at += 1) keep(`k${at}`, at, at + 1);
    expect([kept('k0'), kept('k1'), kept('k200'), localStorage.getItem('other')]).toEqual([
      undefined,
      1,
      200,
      'stays',
    ]);
  });

  it('read what is broken as nothing', () => {
    localStorage.setItem('draft:b', '{"at":');
    expect(kept('b')).toBeUndefined();
  });
});
