/** What the page never does: reach the network, run what a server sent, or carry the rehearsal into the product. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { calls, results, shot } from './harness.mjs';

/** What the first screen may wait for, with room for what every page grows by; the screens behind it come later. */
const FIRST_SCRIPT_BYTES = 180_000;
const CODING = 'Add pagination to users API';

export async function safetyTests(suite) {
  await suite.test('s06 no request leaves the page, whatever a server sends', async (open) => {
    // Every page's listener fails its test on a foreign request; this one walks over everything that could cause one.
    const page = await open('everything', { session: CODING });
    await page.locator('.feed').hover();
    await page.mouse.wheel(0, -20_000);
    await page.getByText('Image not loaded: logo https://tracker.example/pixel.png').waitFor();
    assert.equal(
      await page
        .locator('img, iframe, object, embed, video, audio, link[rel="preload"][href^="http"]')
        .count(),
      0,
    );
    for (let step = 0; step < 20; step += 1) await page.mouse.wheel(0, 400);
    await page.waitForLoadState('networkidle');
  });

  await suite.test(
    's07 links go through the opener only, and dangerous schemes are no links',
    async (open) => {
      const page = await open('everything', { session: CODING });
      await page.locator('.feed').hover();
      await page.mouse.wheel(0, -20_000);
      const link = page.getByRole('link', { name: 'link', exact: true });
      await link.waitFor();
      const before = page.url();
      await link.click();
      await link.click({ button: 'middle' });
      assert.equal(page.url(), before);
      assert.equal(page.context().pages().length, 1);
      assert.deepEqual(await calls(page, 'open_link'), [{ url: 'https://example.com/a' }]);
      assert.equal(await page.getByRole('link', { name: 'bad link' }).count(), 0);
      await page.getByText('(javascript:alert(1))').waitFor();
    },
  );

  await suite.test(
    's07 a link that is not what it looks like asks first, with both names, and Cancel is the default',
    async (open) => {
      const page = await open('doubtful-links', { session: CODING });
      const dialog = page.getByRole('alertdialog', { name: 'This link is not what it looks like' });

      await page.getByRole('link', { name: 'https://bank.test/login' }).click();
      await dialog.getByText('bank.test', { exact: true }).waitFor();
      await dialog.getByText('evil.example', { exact: true }).waitFor();
      await shot(page, 's07-another-host');
      assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Cancel');
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      assert.deepEqual(await calls(page, 'open_link'), []);

      await page.getByRole('link', { name: 'our wiki' }).click();
      await dialog.getByText('xn--xample-2of.com', { exact: true }).waitFor();
      await dialog.getByText('\u0435xample.com', { exact: true }).waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      assert.deepEqual(await calls(page, 'open_link'), []);

      await page.getByRole('link', { name: 'our wiki' }).click();
      await dialog.getByRole('button', { name: 'Open xn--xample-2of.com' }).click();
      await dialog.waitFor({ state: 'detached' });
      assert.deepEqual(await calls(page, 'open_link'), [{ url: 'https://xn--xample-2of.com/login' }]);

      await page.getByRole('link', { name: 'README.md' }).click();
      assert.equal(await dialog.count(), 0);
      assert.equal((await calls(page, 'open_link')).length, 2);
    },
  );

  await suite.test('s08 markup from a server is text', async (open) => {
    const page = await open('streaming', { session: CODING });
    const attack =
      '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>\n\n<svg onload="window.pwned=1">\n\n[x](javascript:window.pwned=1)';
    await page.evaluate((text) => {
      const part = { kind: 'text', text, chars: text.length, handle: null };
      const item = {
        id: 'attack',
        order: 9000,
        turn: null,
        thread: null,
        at: 0,
        body: { kind: 'message', role: 'agent', parts: [part], state: { kind: 'done' } },
      };
      window.rehearsal.change(1, { kind: 'item', item });
    }, attack);
    await page.getByText('<svg onload="window.pwned=1">').waitFor();
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator('.feed img, .feed script, .feed svg').count(), 0);
  });

  await suite.test(
    'the shipped bundle holds no rehearsal, no inline script or style, and no other network code',
    async () => {
      const outDir = join(results, 'shipped');
      await build({ mode: 'production', logLevel: 'error', build: { outDir } });
      const html = readFileSync(join(outDir, 'index.html'), 'utf8');
      assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
      const names = readdirSync(join(outDir, 'assets'));
      const code = names
        .filter((name) => name.endsWith('.js'))
        .map((name) => readFileSync(join(outDir, 'assets', name), 'utf8'));
      assert.ok(code.length > 0);
      for (const text of code) {
        assert.doesNotMatch(text, /rehearsal|LONG_COMMAND|no such story|paste\.example/);
        assert.doesNotMatch(text, /\bnew (WebSocket|EventSource|XMLHttpRequest)\b|\bfetch\(/);
      }
      const entry = /<script[^>]*\ssrc="\.\/(assets\/[^"]+\.js)"/.exec(html);
      assert.ok(entry !== null, 'the page has one script');
      const first = statSync(join(outDir, entry[1])).size;
      assert.ok(first <= FIRST_SCRIPT_BYTES, `the first screen waits for ${first} bytes of script`);
      const style = names
        .filter((name) => name.endsWith('.css'))
        .map((name) => readFileSync(join(outDir, 'assets', name), 'utf8'));
      for (const text of style) assert.doesNotMatch(text, /url\((?!\.?\/)/);
    },
  );
}
