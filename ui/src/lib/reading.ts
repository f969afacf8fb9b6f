/** How long a message that goes by itself stands: long enough to be noticed, and to be read slowly, twice. */
const LEAST_MS = 6000;
const PER_CHARACTER_MS = 120;

export function readingMs(text: string): number {
  return Math.max(LEAST_MS, [...text].length * PER_CHARACTER_MS);
}
