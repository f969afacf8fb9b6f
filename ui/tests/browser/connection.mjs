/** What the person sees of a link that is down, or silent. */
import assert from 'node:assert/strict';
import { calls, shot, stopClock } from './harness.mjs';

const CODING = 'Add pagination to users API';

export async function connectionTests(suite) {
  for (const [size, options] of [
    ['1360x860', {}],
    ['480x360', { width: 480, height: 360 }],
  ]) {
    await suite.test(
      `p21 while reconnecting a countdown runs and Retry now calls the command, ${size}`,
      async (open) => {
        const page = await open('unreachable', { ...options, session: CODING });
        const line = page.getByText(/^The server cannot be reached: no connection\. Next try in 0:\d\d\.$/);
        // The page may have taken its time to open.
        await page.evaluate(() => {
          const waiting = window.rehearsal.of(1).header.connection;
          window.rehearsal.updateHeader(1, { connection: { ...waiting, retry_at: Date.now() + 50_000 } });
        });
        await line.waitFor();
        const seconds = async () => Number(/0:(\d\d)/.exec(await line.textContent())[1]);
        const first = await seconds();
        assert.ok(first > 0 && first <= 51, `${first}`);
        await page.waitForFunction((before) => {
          const now = /Next try in 0:(\d\d)/.exec(document.body.innerText);
          return now !== null && Number(now[1]) < before;
        }, first);
        await shot(page, `p21-${size}`);
        const retry = page.getByRole('button', { name: 'Retry now' });
        const box = await retry.boundingBox();
        const { width = 1360, height = 860 } = options;
        assert.ok(
          box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height,
          JSON.stringify(box),
        );
        await retry.click();
        await page.waitForFunction(() => window.rehearsal.calls.some((call) => call.name === 'retry_now'));
        assert.deepEqual(await calls(page, 'retry_now'), [{ session: 1 }]);
        // Connected again: nothing is left of it.
        await line.waitFor({ state: 'detached' });
        assert.equal(await retry.count(), 0);
      },
    );
  }

  await suite.test('p21 a wrong token is told apart from a lost connection', async (open) => {
    const page = await open('unreachable', { session: CODING });
    await page.evaluate(() => window.rehearsal.updateHeader(1, { connection: { kind: 'unauthorized' } }));
    await page.getByText('The server wants another token (401).').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Retry now' }).count(), 0);
    await page.getByRole('button', { name: 'Replace token' }).waitFor();
  });

  for (const [size, options] of [
    ['1360x860', {}],
    ['480x360', { width: 480, height: 360 }],
  ]) {
    await suite.test(
      `p22 after 30 s of silence a running session says how old its last news are, ${size}`,
      async (open) => {
        const page = await open('streaming', { ...options, session: CODING });
        const note = page.getByText(/^last event 3\d s ago$/);
        const silence = (ms) =>
          page.evaluate(
            (age) => window.rehearsal.updateHeader(1, {}, { last_event_at: Date.now() - age }),
            ms,
          );
        await stopClock(page);
        await silence(28_500);
        assert.equal(await note.count(), 0);
        // Nothing more comes: the note appears by itself.
        await page.clock.runFor(3_000);
        await note.waitFor();
        const box = await note.boundingBox();
        assert.ok(box.width > 20 && box.x + box.width <= (options.width ?? 1360), JSON.stringify(box));
        await shot(page, `p22-${size}`);
        await silence(0);
        await note.waitFor({ state: 'detached' });
      },
    );
  }

  await suite.test('p22 what is not live is dimmed, and readable', async (open) => {
    const page = await open('streaming', { session: CODING });
    const words = page.getByText('First paragraph, finished.');
    await words.waitFor();
    const colour = () => words.evaluate((element) => getComputedStyle(element).color);
    const live = await colour();
    const connection = {
      kind: 'waiting',
      attempt: 1,
      retry_at: Date.now() + 25_000,
      cause: { kind: 'silent' },
      detail: null,
    };
    await page.evaluate((state) => window.rehearsal.updateHeader(1, { connection: state }), connection);
    await page.getByText('Not live: what you see may be out of date.').waitFor({ state: 'attached' });
    assert.notEqual(await colour(), live);
    await page.getByText('Running when last seen').waitFor();
  });
}
