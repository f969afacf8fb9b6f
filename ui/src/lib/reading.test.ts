import { expect, it } from 'vitest';
import { readingMs } from './reading';

it('a message stands the longer the more there is to read, and never for a glance only', () => {
  expect(readingMs('ok')).toBe(6000);
  expect(readingMs('x'.repeat(100))).toBe(12_000);
  expect(readingMs('導'.repeat(100))).toBe(12_000);
});
