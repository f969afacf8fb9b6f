import { describe, expect, it } from 'vitest';
import * as g from './guard';

/** A card that was drawn at 1000, with a pointer that moved at 1600 and nothing that moved since. */
const ready = g.pointerMoved(g.visibility(g.untouched, true, 1000), 1600);

function click(guard: g.Guard, down: string, up: string, at: number): g.Refusal | null {
  return g.pointerUp(g.pointerDown(guard, down, at), up, at + 20).refusal;
}

describe('pointer', () => {
  it('counts a press and release on the same button of a card at rest', () => {
    expect(click(ready, 'allow', 'allow', 2000)).toBeNull();
  });

  it('p08 does not count before the card was drawn for 500 ms', () => {
    const fresh = g.pointerMoved(g.visibility(g.untouched, true, 1000), 1200);
    expect(click(fresh, 'allow', 'allow', 1400)).toBe('too_soon');
    expect(g.pointerUp(g.pointerDown(fresh, 'allow', 1490), 'allow', 1510).refusal).toBe('other_button');
    expect(click(fresh, 'allow', 'allow', 1500)).toBeNull();
  });

  it('p08 does not count when the pointer has not moved since the card appeared', () => {
    expect(click(g.visibility(g.untouched, true, 1000), 'allow', 'allow', 3000)).toBe('pointer_still');
  });

  it('p08 does not count when press and release hit different buttons', () => {
    expect(click(ready, 'deny', 'allow', 2000)).toBe('other_button');
  });

  it('p10 does not count within 300 ms of anything that moved, and a move during a press ends it', () => {
    expect(click(g.moved(ready, 1800), 'allow', 'allow', 2000)).toBe('moving');
    expect(click(g.moved(ready, 1800), 'allow', 'allow', 2100)).toBeNull();
    const during = g.moved(g.pointerDown(ready, 'allow', 2000), 2010);
    expect(g.pointerUp(during, 'allow', 2400).refusal).toBe('other_button');
  });

  it('p09 swallows the click that activates the window', () => {
    expect(click(g.windowActivated(ready, 1900), 'allow', 'allow', 2000)).toBe('window_activated');
    expect(click(g.windowActivated(ready, 1900), 'allow', 'allow', 2200)).toBeNull();
  });

  it('starts anew after the card was hidden', () => {
    const back = g.visibility(g.visibility(ready, false, 2000), true, 2100);
    expect(click(back, 'allow', 'allow', 2200)).toBe('too_soon');
    expect(click(back, 'allow', 'allow', 3000)).toBe('pointer_still');
  });
});

describe('keyboard', () => {
  const plain = { repeat: false, composing: false };
  const reached = g.focusEntered(g.tabbed(ready, 1900), false, 1910);

  it('counts Enter on a button after the person tabbed into the card', () => {
    const down = g.keyDown(reached, 'deny', plain, 2000);
    expect(down.refusal).toBeNull();
    expect(g.keyClick(down.guard, 'deny').refusal).toBeNull();
  });

  it('p07 does nothing when the focus came by itself', () => {
    const stray = g.focusEntered(ready, false, 1910);
    const down = g.keyDown(stray, 'allow', plain, 2000);
    expect(down.refusal).toBe('not_reached');
    expect(g.keyClick(down.guard, 'allow').refusal).toBe('not_reached');
  });

  it('p07 does nothing on a fresh card', () => {
    const fresh = g.focusEntered(g.tabbed(g.visibility(g.untouched, true, 1000), 1100), false, 1110);
    expect(g.keyDown(fresh, 'deny', plain, 1200).refusal).toBe('too_soon');
  });

  it('p35 does not count a key of an input method or a held key', () => {
    expect(g.keyDown(reached, 'allow', { repeat: false, composing: true }, 2000).refusal).toBe('not_reached');
    expect(g.keyDown(reached, 'allow', { repeat: true, composing: false }, 2000).refusal).toBe('not_reached');
  });

  it('does not count an activation without a key, or on another button', () => {
    expect(g.keyClick(reached, 'allow').refusal).toBe('not_reached');
    expect(g.keyClick(g.keyDown(reached, 'deny', plain, 2000).guard, 'allow').refusal).toBe('not_reached');
  });

  it('forgets the focus when it leaves', () => {
    expect(g.keyDown(g.focusLeft(reached), 'allow', plain, 2000).refusal).toBe('not_reached');
  });

  it('p08 survives 1,000 cards and 20 keys a second from the composer without a decision', () => {
    let decisions = 0;
    for (let at = 0; at < 50_000; at += 50) {
      const card = g.visibility(g.untouched, true, at);
      for (const age of [10, 600]) {
        const down = g.keyDown(card, 'allow', plain, at + age);
        if (g.keyClick(down.guard, 'allow').refusal === null) decisions += 1;
      }
    }
    expect(decisions).toBe(0);
  });
});
