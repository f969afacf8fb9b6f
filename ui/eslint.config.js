import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';

/** Who may use what in the page: components -> state -> backend -> contract; the network belongs to nobody. */
const network = ['fetch', 'XMLHttpRequest', 'WebSocket', 'EventSource'].map((name) => ({
  name,
  message: 'The page has no network: everything remote goes through a command.',
}));

export default ts.config(
  {
    ignores: ['dist', 'node_modules', 'project.inlang', 'src/lib/contract', 'src/paraglide', 'test-results'],
  },
  js.configs.recommended,
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser } },
    rules: {
      'no-restricted-globals': ['error', ...network],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-dynamic-delete': 'off',
      eqeqeq: 'error',
      'svelte/no-at-html-tags': 'error',
      'svelte/require-each-key': 'error',
      // Server data is held in `$state.raw` on purpose: a delta must touch one text node, not a deep proxy.
      'svelte/prefer-svelte-reactivity': 'off',
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser } },
  },
  {
    files: ['src/**/*.{ts,svelte}'],
    ignores: ['src/lib/backend/tauri.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            { group: ['@tauri-apps/*'], message: 'Only src/lib/backend/tauri.ts talks to the shell.' },
          ],
        },
      ],
    },
  },
  {
    files: ['tests/**', '*.js', '*.ts'],
    languageOptions: { globals: { ...globals.node } },
    rules: { 'no-restricted-globals': 'off' },
  },
);
