/** The transcript: virtualised, steady while it streams, and never fighting the reader. */
import assert from 'node:assert/strict';
import { frames, LIMIT_MS } from './harness.mjs';

const CODING = 'Add pagination to users API';
/** Waits until the feed has stood still for ten frames: a wheel scrolls on for some of them. */
const still = (page) =>
  page.evaluate(
    () =>
      new Promise((done) => {
        const feed = document.querySelector('.feed');
        let place = feed.scrollTop;
        let frames = 0;
        const look = () => {
          frames = feed.scrollTop === place ? frames + 1 : 0;
          place = feed.scrollTop;
          if (frames === 10) done();
          else window.drawn(look);
        };
        window.drawn(look);
      }),
  );

export async function transcriptTests(suite) {
  await suite.test('p27 at most 1,500 elements with 10,000 items, wherever the reader is', async (open) => {
    const page = await open('long', { session: CODING });
    await page
      .getByText('hm')
      .or(page.getByText(/Thought for/))
      .first()
      .waitFor();
    const count = () => page.evaluate(() => document.querySelectorAll('*').length);
    let most = await count();
    await page.locator('.feed').hover();
    // Up to the very first item: every page of older ones is read on the way.
    const first = page.getByText('Question 0: what about step 0?');
    const limit = performance.now() + 3 * LIMIT_MS;
    while (!(await first.isVisible())) {
      assert.ok(performance.now() < limit, 'the first item was not reached');
      await page.mouse.wheel(0, -30_000);
      await frames(page);
      most = Math.max(most, await count());
    }
    const held = await page.evaluate(
      () => window.rehearsal.calls.filter((call) => call.name === 'read_items').length,
    );
    assert.ok(held >= 49, `every older page was read: ${held}`);
    assert.ok(most <= 1500, `at most 1,500 elements: ${most}`);
    console.log(`      dom_nodes_max ${most}`);
  });

  await suite.test(
    'p29 finished blocks keep their elements, and a selection survives 1,000 deltas',
    async (open) => {
      const page = await open('streaming', { session: CODING });
      await page.getByText('First paragraph, finished.').waitFor();
      await page.evaluate(() => {
        const first = [...document.querySelectorAll('.md p')].find(
          (p) => p.textContent === 'First paragraph, finished.',
        );
        window.firstBlock = first;
        getSelection().selectAllChildren(first);
      });
      await page.evaluate(async () => {
        for (let delta = 0; delta < 1000; delta += 1) {
          window.rehearsal.change(1, {
            kind: 'append',
            item: 'live',
            part: 0,
            text: delta % 50 === 49 ? '\n\nnext ' : ` w${delta}`,
          });
          if (delta % 40 === 0) await new Promise((done) => requestAnimationFrame(done));
        }
      });
      await page.getByText('w998', { exact: false }).waitFor();
      assert.equal(await page.evaluate(() => window.firstBlock.isConnected), true);
      assert.equal(await page.evaluate(() => getSelection().toString()), 'First paragraph, finished.');
    },
  );

  await suite.test(
    'p30 the transcript follows the end, lets go at one move up, and End takes hold again',
    async (open) => {
      const page = await open('long', { session: CODING });
      const feed = page.locator('.feed');
      const away = () =>
        feed.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
      await page.waitForFunction(() => {
        const element = document.querySelector('.feed');
        return (
          element.scrollHeight > 2000 && element.scrollHeight - element.scrollTop - element.clientHeight < 30
        );
      });
      await feed.hover();
      await page.mouse.wheel(0, -500);
      await frames(page);
      await page.waitForFunction(
        () =>
          document.querySelector('.feed').dataset.settled === undefined &&
          document.querySelector('.pill') !== null,
      );
      await still(page);
      const anchor = () =>
        page.evaluate(() => {
          const row = [...document.querySelectorAll('.feed .row')].find(
            (element) => element.getBoundingClientRect().top > 80,
          );
          return { text: row.textContent, top: Math.round(row.getBoundingClientRect().top) };
        });
      const before = await anchor();
      await page.evaluate(async () => {
        for (let more = 0; more < 30; more += 1) {
          const item = {
            id: `more-${more}`,
            order: 1_000_000 + more,
            turn: null,
            thread: null,
            at: Date.now(),
            body: {
              kind: 'message',
              role: 'agent',
              parts: [{ kind: 'text', text: `New words ${more}`, chars: 12, handle: null }],
              state: { kind: 'done' },
            },
          };
          window.rehearsal.change(1, { kind: 'item', item });
          await new Promise((done) => requestAnimationFrame(done));
        }
      });
      await page.getByRole('button', { name: '30 new' }).waitFor();
      assert.deepEqual(await anchor(), before, 'what is read does not move');
      await feed.press('End');
      await page.getByText('New words 29').waitFor();
      await still(page);
      assert.ok((await away()) < 30);
    },
  );

  await suite.test('p30 reading older items keeps the anchor', async (open) => {
    const page = await open('long', { session: CODING });
    await page.waitForFunction(() => document.querySelector('.feed').scrollHeight > 2000);
    const feed = page.locator('.feed');
    await feed.hover();
    await page.evaluate(() => {
      // The answer comes when the test has looked where everything stands.
      const world = window.rehearsal;
      const call = world.call.bind(world);
      world.call = async (name, args) => {
        if (name === 'read_items') await new Promise((done) => (window.release = done));
        return call(name, args);
      };
    });
    const limit = performance.now() + LIMIT_MS;
    while (!(await page.evaluate(() => window.release !== undefined))) {
      assert.ok(performance.now() < limit, 'no older items are asked for');
      await page.mouse.wheel(0, -900);
      await frames(page);
    }
    await still(page);
    const anchor = () =>
      page.evaluate(() => {
        const rows = [...document.querySelectorAll('.feed .row')];
        const row =
          window.anchorText === undefined
            ? rows.find((element) => element.getBoundingClientRect().top > 80)
            : rows.find((element) => element.textContent === window.anchorText);
        window.anchorText = row?.textContent;
        return row === undefined ? null : Math.round(row.getBoundingClientRect().top);
      });
    const before = await anchor();
    await page.evaluate(() => window.release());
    await page.waitForFunction(() => window.rehearsal.calls.some((call) => call.name === 'read_items'));
    await still(page);
    const after = await anchor();
    assert.ok(after !== null && Math.abs(after - before) <= 2, `the anchor stays: ${before} -> ${after}`);
  });

  await suite.test(
    'p19 a hole in the batches reads the overview and the session again, without a duplicate',
    async (open) => {
      const page = await open('streaming', { session: CODING });
      await page.evaluate(() => {
        const world = window.rehearsal;
        const said = (id, text) => ({
          id,
          order: 5000,
          turn: null,
          thread: null,
          at: 0,
          body: {
            kind: 'message',
            role: 'agent',
            parts: [{ kind: 'text', text, chars: text.length, handle: null }],
            state: { kind: 'done' },
          },
        });
        const session = world.of(1);
        // Lost on the way: the world knows it, the page was never told.
        session.items.push(said('lost', 'Words that were lost'));
        session.revision += 1;
        world.emit(
          [
            {
              topic: 'session',
              session: 1,
              revision: session.revision + 1,
              change: { kind: 'item', item: said('after', 'Words after the hole') },
            },
          ],
          3,
        );
        session.items.push(said('after', 'Words after the hole'));
        session.revision += 1;
      });
      await page.getByText('Words that were lost').waitFor();
      assert.equal(await page.getByText('Words after the hole').count(), 1);
      const names = await page.evaluate(() => window.rehearsal.calls.map((call) => call.name));
      assert.equal(names.filter((name) => name === 'overview').length, 2);
      assert.ok(names.filter((name) => name === 'open_session').length >= 2);
    },
  );

  await suite.test('big payloads are read on a click, part by part', async (open) => {
    const page = await open('everything', { session: CODING });
    const feed = page.locator('.feed');
    await feed.hover();
    await page.mouse.wheel(0, -20_000);
    const card = page.getByRole('button', { name: /read_file README.md/ });
    await still(page);
    const limit = performance.now() + LIMIT_MS;
    while (!(await card.isVisible())) {
      assert.ok(performance.now() < limit, 'the card is not found');
      await page.mouse.wheel(0, 150);
      await still(page);
    }
    await card.click();
    await page.getByRole('button', { name: /Show more \(39,800 characters left\)/ }).click();
    await page.waitForFunction(() =>
      [...document.querySelectorAll('.out')].some((out) => out.textContent.length === 40_000),
    );
  });
}
