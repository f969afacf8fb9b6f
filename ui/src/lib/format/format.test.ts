import { expect, it } from 'vitest';
import { formatAgo, formatBytes, formatCountdown, formatDuration, formatNumber } from './format';

it.each([
  [40, 'en', '40 ms'],
  [6000, 'en', '6 s'],
  [2450, 'en', '2.4 s'],
  [108_000, 'en', '1 m 48 s'],
  [120_000, 'en', '2 m'],
  [7_500_000, 'en', '2 h 5 m'],
  [108_000, 'zh-CN', '1 分 48 秒'],
] as const)('a span of %i ms in %s is %s', (ms, language, words) =>
  expect(formatDuration(ms, language)).toBe(words),
);

it.each([
  [12, '12 B'],
  [1536, '1.5 KiB'],
  [67_108_864, '64 MiB'],
])('%i bytes are %s', (bytes, words) => expect(formatBytes(bytes, 'en')).toBe(words));

it('counts down in minutes and seconds', () =>
  expect([formatCountdown(271_000), formatCountdown(-5)]).toEqual(['4:31', '0:00']));

it('groups digits', () => expect(formatNumber(23_487, 'en')).toBe('23,487'));

it('says how long ago in the fewest letters', () => {
  const now = Date.UTC(2026, 10, 30, 12);
  expect([1000, 14_000, 120_000, 7_200_000].map((age) => formatAgo(now - age, now, 'en'))).toEqual([
    null,
    '14s',
    '2m',
    '2h',
  ]);
  expect(formatAgo(now - 120_000, now, 'zh-CN')).toBe('2 分钟');
});
