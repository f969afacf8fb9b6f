import { expect, it } from 'vitest';
import { noUsage } from '$lib/backend/fake/samples';
import type { Turn } from '$lib/contract';
import { lanesOf, waitedMs } from './timeline';

const turn: Turn = {
  id: 't',
  started_at: 0,
  ended_at: null,
  stop: null,
  usage: noUsage,
  spans: [
    { kind: 'you', name: '', started_at: 800, ended_at: null },
    { kind: 'model', name: '', started_at: 0, ended_at: 500 },
    { kind: 'tool', name: 'shell', started_at: 500, ended_at: 500 },
    { kind: 'model', name: '', started_at: 600, ended_at: 800 },
  ],
};

it('puts the model first, tools next and the person last, as fractions of the turn', () => {
  expect(
    lanesOf(turn, 1000).map((lane) => [lane.key, lane.bars.map((bar) => [bar.start, bar.length])]),
  ).toEqual([
    [
      'model:',
      [
        [0, 0.5],
        [0.6, 0.2],
      ],
    ],
    ['tool:shell', [[0.5, 0.015]]],
    ['you:', [[0.8, 0.2]]],
  ]);
});

it('counts the time that still runs', () => expect(waitedMs(turn.spans, 1000)).toBe(200));
