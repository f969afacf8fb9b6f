import { describe, expect, it } from 'vitest';
import { deadlineOf } from './deadline';

describe('p14 the deadline of a request', () => {
  const request = { asked_at: 1000, deadline: 301_000 };
  it.each([
    [100, 'calm', 300_000],
    [1000, 'calm', 300_000],
    [240_999, 'calm', 60_001],
    [241_000, 'soon', 60_000],
    [300_999, 'soon', 1],
    [301_000, 'over', 0],
    [999_999, 'over', 0],
  ])('at %d it is %s, with %d ms left', (now, phase, left) =>
    expect(deadlineOf(request, now)).toEqual({ phase, left }),
  );

  it('is none where the server waits for as long as it takes', () => {
    expect(deadlineOf({ asked_at: 1000, deadline: null }, 9e12)).toBeNull();
  });
});
