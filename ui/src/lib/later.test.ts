import type { Component } from 'svelte';
import { describe, expect, it } from 'vitest';
import { Later } from './later.svelte';

const drawn = (() => ({})) as unknown as Component;

describe('a component that comes later', () => {
  it('is fetched once, however often it is asked for', async () => {
    let fetched = 0;
    const later = new Later(() => {
      fetched += 1;
      return Promise.resolve({ default: drawn });
    });
    expect(later.component).toBeNull();
    await Promise.all([later.load(), later.load()]);
    await later.load();
    expect(later.component).toBe(drawn);
    expect(fetched).toBe(1);
  });

  it('is asked for again after a failure', async () => {
    const answers = [Promise.reject(new Error('gone')), Promise.resolve({ default: drawn })];
    const later = new Later(() => answers.shift() ?? Promise.reject(new Error('asked too often')));
    await expect(later.load()).rejects.toThrow('gone');
    expect(later.component).toBeNull();
    await later.load();
    expect(later.component).toBe(drawn);
  });
});
