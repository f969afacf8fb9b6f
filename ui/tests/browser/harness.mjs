/** Serves the rehearsal build under the shipped page's CSP, opens stories in Chromium, and counts results. */
import assert from 'node:assert/strict';
import { createReadStream, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

export const results = fileURLToPath(new URL('../../test-results', import.meta.url));
const root = join(results, 'page');
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src ipc: http://ipc.localhost; base-uri 'none'; form-action 'none'";
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.woff2': 'font/woff2',
};

/** How long any one wait may take. Generous: a busy machine must not fail a test. */
export const LIMIT_MS = 60_000;

export async function serve() {
  assert.ok(
    existsSync(join(root, 'index.html')),
    'the rehearsal build is missing: npm run test:browser makes it',
  );
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://page').pathname);
    const file = join(root, path === '/' ? 'index.html' : path);
    if (path === '/favicon.ico') {
      response.writeHead(204).end();
      return;
    }
    if (!file.startsWith(root) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
      'content-security-policy': CSP,
    });
    createReadStream(file).pipe(response);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none'],
  });
}

/** One suite: named tests, run one after the other, each with pages of its own. */
export class Suite {
  passed = 0;
  failed = 0;
  #browser;
  #origin;
  #only = process.argv[2];

  constructor(browser, origin) {
    this.#browser = browser;
    this.#origin = origin;
  }

  async test(name, body) {
    if (this.#only !== undefined && !name.includes(this.#only)) return;
    const begin = performance.now();
    const pages = [];
    const troubles = [];
    const open = async (story, options = {}) => {
      const page = await this.#open(story, options, troubles);
      pages.push(page);
      return page;
    };
    try {
      await body(open);
      assert.deepEqual(troubles, [], 'the page reported faults');
      this.passed += 1;
      console.log(`ok    ${name} (${Math.round(performance.now() - begin)} ms)`);
    } catch (error) {
      this.failed += 1;
      console.log(`FAIL  ${name}\n${error instanceof Error ? (error.stack ?? error.message) : error}`);
      for (const page of pages)
        await shot(page, `failed-${name.replace(/\W+/g, '-').slice(0, 60)}`).catch(() => undefined);
    } finally {
      for (const page of pages) await page.context().close();
    }
  }

  async #open(story, options, troubles) {
    const { theme = 'light', lang = 'en', width = 1360, height = 860, scale = 1, session = null } = options;
    const { held = null } = options;
    const context = await this.#browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: scale,
      timezoneId: 'Asia/Shanghai',
      reducedMotion: 'reduce',
    });
    await context.addInitScript(() => {
      // As the shell does: a library that writes over an inherited name fails here first.
      Object.freeze(Object.prototype);
      // The clock below makes frames of its own: only these tell what was drawn.
      const draw = window.requestAnimationFrame.bind(window);
      Object.defineProperty(window, 'drawn', { value: draw });
    });
    // It runs as any clock does, and can be set forward and stopped.
    await context.clock.install();
    const page = await context.newPage();
    page.setDefaultTimeout(LIMIT_MS);
    page.on('pageerror', (error) => troubles.push(`error: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error') troubles.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(this.#origin) && !url.startsWith('data:') && !url.startsWith('blob:'))
        troubles.push(`s06 request left the page: ${url}`);
    });
    if (held !== null)
      await page.route(held.files, async (route) => {
        await held.until;
        await route.continue();
      });
    await page.goto(`${this.#origin}/?story=${story}&theme=${theme}&lang=${lang}`);
    await page.waitForFunction(() => window.rehearsal?.calls.some((call) => call.name === 'page_ready'));
    if (session !== null) await openSession(page, session);
    return page;
  }
}

/** Opens a session as a person does: from the sidebar, which a narrow window hides behind its button. */
export async function openSession(page, title) {
  const burger = page.getByRole('button', { name: /sidebar|侧栏/ });
  if (await burger.isVisible()) await burger.click();
  await page.getByRole('button', { name: title }).first().click();
  await page.getByRole('heading', { level: 1, name: title }).waitFor();
}

export const calls = (page, name) =>
  page.evaluate(
    (wanted) => window.rehearsal.calls.filter((call) => call.name === wanted).map((call) => call.args),
    name,
  );

export async function shot(page, name) {
  mkdirSync(results, { recursive: true });
  await page.screenshot({ path: join(results, `${name}.png`) });
}

/** Fails on any violation, with the rule and the elements it names. */
export async function axe(page, what) {
  const found = await page.evaluate(async (source) => {
    // The CSP forbids inline scripts; an evaluated function is not one.
    if (window.axe === undefined) new Function(source)();
    const report = await window.axe.run(document, { resultTypes: ['violations'] });
    return report.violations.map(
      (rule) =>
        `${rule.id}: ${rule.help}: ${rule.nodes.map((node) => `${node.target.join(' ')} (${node.failureSummary})`).join(' | ')}`,
    );
  }, axeSource);
  assert.deepEqual(found, [], `axe on ${what}`);
}

/** Lets so many frames be drawn. */
export const frames = (page, count = 3) =>
  page.evaluate(
    (wanted) =>
      new Promise((done) => {
        let left = wanted;
        const next = () => {
          left -= 1;
          if (left < 0) done();
          else window.drawn(next);
        };
        next();
      }),
    count,
  );

/**
 * Lets the time pass after which a card takes input: it has been visible and still for long enough. The page's clock
 * is set forward, once what changed has been drawn.
 */
export async function rest(page) {
  await frames(page);
  await page.clock.fastForward(900);
}

/** Stops the page's clock, a minute ahead: what follows may take as long as it wants. `page.clock.resume()` ends it. */
export async function stopClock(page) {
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 60_000));
}

/** Moves the pointer onto a button and clicks it there, as a hand does. */
export async function press(page, button) {
  const box = await button.boundingBox();
  assert.ok(box !== null, 'the button is on the page');
  await page.mouse.move(box.x + box.width / 2 + 3, box.y + box.height / 2 + 2);
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.up();
}
