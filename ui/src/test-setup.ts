/** Gives component tests the page's language and a clean document. */
import { cleanup } from '@testing-library/svelte';
import { afterEach } from 'vitest';
import { setLanguage } from '$lib/i18n/i18n.svelte';

setLanguage('en', ['en']);
afterEach(() => {
  cleanup();
  localStorage.clear();
});
