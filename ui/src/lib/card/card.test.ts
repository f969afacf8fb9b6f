import { describe, expect, it } from 'vitest';
import type { Backend } from '$lib/backend/backend';
import { sampleRequest } from '$lib/backend/fake/samples';
import { otherArguments } from './arguments';
import { answersOf, decisionOf, isAnswered } from './decision';
import { cardKey, firstToShow, lingerMs, placeOf } from './dock';
import { Payload } from './payload.svelte';

describe('otherArguments', () => {
  it.each([
    ['{"command":"ls"}', 'ls', false],
    ['{"command":"ls","timeout":5}', 'ls', true],
    ['{"command":"ls "}', 'ls', true],
    ['not json', 'ls', true],
    ['["ls"]', 'ls', true],
    ['', 'ls', false],
  ])('%s beside %s: %s', (input, command, more) => expect(otherArguments(input, command)).toBe(more));
});

describe('dock', () => {
  const a = sampleRequest({ id: 'a', asked_at: 1 });
  const b = sampleRequest({ id: 'b', asked_at: 2 });
  const done = sampleRequest({ id: 'c', asked_at: 0, state: { kind: 'accepted', choice: 'deny', at: 5 } });

  it('shows the oldest that can be answered first', () => {
    expect(firstToShow([done, { ...a, state: { kind: 'announced' } }, b])?.id).toBe('b');
    expect(firstToShow([done])).toBeNull();
  });

  it('counts only what waits', () => {
    expect(placeOf([done, a, b], 'b')).toEqual({ index: 2, count: 2, previous: 'a', next: null });
    expect(placeOf([done, a, b], 'c')).toEqual({ index: 0, count: 2, previous: null, next: 'a' });
  });

  it('p05 keeps what was settled elsewhere readable longer than an own decision', () => {
    expect(lingerMs({ ...a, state: { kind: 'elsewhere', choice: null, at: 0 } }, false)).toBeGreaterThan(
      lingerMs(done, false),
    );
  });

  it('s02 makes a new card for other bytes', () => {
    expect(cardKey(a)).not.toBe(cardKey({ ...a, digest: 'other' }));
    expect(cardKey(a)).toBe(cardKey({ ...a, state: { kind: 'sending', choice: 'deny', attempt: 1 } }));
  });
});

describe('decision', () => {
  it('carries the digest of what was on the card', () => {
    const request = sampleRequest({ id: 'a', digest: 'd1' });
    const [choice] = request.choices;
    if (choice === undefined) throw new Error('a sample has choices');
    expect(decisionOf(request, { choice, reason: 'no' })).toEqual({
      session: request.session,
      request: 'a',
      digest: 'd1',
      choice: choice.id,
      reason: 'no',
      answers: [],
      result: null,
    });
  });

  it('p36 answers with labels in the order of the question', () => {
    const question = { id: 'q', text: '?', options: ['one', 'two'], multiple: true, free_text: true };
    const request = sampleRequest({ questions: [question] });
    expect(answersOf(request, { q: { labels: ['two', 'one', 'gone'], text: '  ' } })).toEqual([
      { question: 'q', labels: ['one', 'two'], text: null },
    ]);
    expect(isAnswered(question, { labels: [], text: ' ' })).toBe(false);
    expect(isAnswered(question, { labels: [], text: 'x' })).toBe(true);
  });
});

describe('Payload', () => {
  const whole = '天'.repeat(300_000);
  const backend = (change: (from: number, text: string) => { text: string; chars: number }): Backend => ({
    call: (async (_name: string, args: { from: number; limit: number }) => ({
      from: args.from,
      read_at: 0,
      ...change(args.from, whole.slice(args.from, args.from + args.limit)),
    })) as Backend['call'],
    subscribe: () => Promise.resolve(),
    onCloseAsked: () => Promise.resolve(),
  });
  const source = { text: whole.slice(0, 10), chars: 300_000, handle: 'h' };

  it('p01 reads by handle until it is complete', async () => {
    const payload = new Payload(
      backend((_from, text) => ({ text, chars: 300_000 })),
      1,
      source,
    );
    expect(payload.complete).toBe(false);
    await payload.read();
    expect(payload.complete).toBe(true);
    expect(payload.text).toBe(whole);
  });

  it('p01 is never complete when the payload changed meanwhile', async () => {
    const payload = new Payload(
      backend((_from, text) => ({ text, chars: 299_999 })),
      1,
      source,
    );
    await payload.read();
    expect(payload.complete).toBe(false);
    expect(payload.error?.code).toBe('request_changed');
  });
});
