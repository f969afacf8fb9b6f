/** The colour theme on the document: as chosen, or following the system while it changes. */
import type { Theme } from '$lib/contract';

const dark = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : null;
let chosen: Theme = 'system';

function show(): void {
  const isDark = chosen === 'dark' || (chosen === 'system' && (dark?.matches ?? false));
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
}

dark?.addEventListener('change', show);

export function followTheme(theme: Theme): void {
  chosen = theme;
  show();
}
