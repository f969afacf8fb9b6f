import { describe, expect, it } from 'vitest';
import { imeWatch, isSendingEnter } from './ime';

const enter = { key: 'Enter', isComposing: false, keyCode: 13, shiftKey: false };

describe('p35 Enter and input methods', () => {
  it('sends a plain Enter, and breaks the line with Shift', () => {
    expect(isSendingEnter(enter, imeWatch())).toBe(true);
    expect(isSendingEnter({ ...enter, shiftKey: true }, imeWatch())).toBe(false);
  });

  it('never sends while composing, or with key code 229', () => {
    expect(isSendingEnter({ ...enter, isComposing: true }, imeWatch())).toBe(false);
    expect(isSendingEnter({ ...enter, keyCode: 229 }, imeWatch())).toBe(false);
  });

  it('never sends within the tick in which a composition ended', () => {
    const waiting: (() => void)[] = [];
    const watch = imeWatch((work) => waiting.push(work));
    watch.attributes.oncompositionstart();
    expect(isSendingEnter(enter, watch)).toBe(false);
    watch.attributes.oncompositionend();
    expect(isSendingEnter(enter, watch)).toBe(false);
    waiting.forEach((work) => work());
    expect(isSendingEnter(enter, watch)).toBe(true);
  });
});
