/// <reference types="vitest/config" />
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/**
 * The shipped page talks to the shell. Only the mode `browser-test` builds the same page over the in-memory
 * backend, into a folder of its own, so that nothing of it can reach the shipped bundle.
 */
export default defineConfig(({ mode }) => {
  const rehearsal = mode === 'browser-test';
  return {
    base: './',
    plugins: [svelte()],
    resolve: {
      alias: {
        '#backend': here(rehearsal ? './src/lib/backend/fake/entry.ts' : './src/lib/backend/tauri.ts'),
        $lib: here('./src/lib'),
        $components: here('./src/components'),
        $paraglide: here('./src/paraglide'),
      },
      ...(process.env['VITEST'] ? { conditions: ['browser'] } : {}),
    },
    build: {
      outDir: rehearsal ? 'test-results/page' : 'dist',
      emptyOutDir: true,
      target: 'safari15',
      // Under the page's CSP neither inline scripts nor data: fonts load.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      cssCodeSplit: false,
      sourcemap: false,
    },
    server: { port: 5173, strictPort: true },
    test: {
      environment: 'happy-dom',
      include: ['src/**/*.test.ts'],
      setupFiles: ['./src/test-setup.ts'],
      restoreMocks: true,
    },
  };
});
