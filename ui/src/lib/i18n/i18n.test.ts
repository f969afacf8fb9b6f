import { describe, expect, it } from 'vitest';
import en from '../../../messages/en.json';
import zh from '../../../messages/zh-CN.json';
import { m } from '$paraglide/messages';
import { languageOf, setLanguage } from './i18n.svelte';
import { errorWords, rowWords, stepWords } from './words';
import { sampleRow, sampleServer } from '$lib/backend/fake/samples';

/** The words of a message, whatever its form, and the placeholders in them. */
const wordsOf = (message: unknown): string =>
  typeof message === 'string' ? message : JSON.stringify(message);
const placeholders = (message: unknown) =>
  [...new Set([...wordsOf(message).matchAll(/\{(\w+)\}/g)].map((match) => match[1]))].sort();

describe('catalogues', () => {
  it('hold the same messages in both languages, with the same placeholders', () => {
    expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
    const chinese = zh as Record<string, unknown>;
    for (const [key, message] of Object.entries(en))
      expect([key, placeholders(chinese[key])]).toEqual([key, placeholders(message)]);
  });

  it('leave nothing empty', () => {
    for (const message of [...Object.values(en), ...Object.values(zh)])
      expect(wordsOf(message).trim()).not.toBe('');
  });
});

describe('language', () => {
  it.each([
    [['zh-TW', 'en'], 'zh-CN'],
    [['de', 'en-GB', 'zh'], 'en'],
    [['fr'], 'en'],
  ] as const)('of a system that wants %j is %s', (system, language) =>
    expect(languageOf(system)).toBe(language),
  );

  it('changes every message at once', () => {
    setLanguage('zh-CN');
    expect(m.nav_history()).toBe('历史');
    expect(document.documentElement.lang).toBe('zh-CN');
    setLanguage('en');
    expect(m.nav_history()).toBe('History');
  });
});

describe('words', () => {
  it('act on the code of an error, and fall back to its sentence', () => {
    expect(errorWords({ code: 'unreachable', message: 'x', retryable: true, detail: null })).toBe(
      'The server cannot be reached.',
    );
    const unknown = {
      code: 'from_the_future',
      message: 'Said by the engine.',
      retryable: false,
      detail: null,
    };
    expect(errorWords(unknown as unknown as Parameters<typeof errorWords>[0])).toBe('Said by the engine.');
  });

  it('p25 tell a missing token from a wrong one', () => {
    const step = { layer: 'auth', outcome: 'failed', detail: null, status: 401 } as const;
    expect(stepWords(step, false)).toContain('it wants a token');
    expect(stepWords(step, true)).toContain('does not take this token');
  });

  it('say what a session needs before anything else', () => {
    const down = sampleServer({ state: { kind: 'unreachable', layer: 'dns', detail: '', retry_at: null } });
    expect(rowWords(sampleRow({ waiting: 2 }), down)).toBe('2 permissions');
    expect(rowWords(sampleRow(), down)).toBe('server unreachable');
  });
});
