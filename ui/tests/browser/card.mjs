/** The request card, by the rows of the behaviours it keeps. */
import assert from 'node:assert/strict';
import { calls, press, rest, shot, stopClock } from './harness.mjs';

const CODING = 'Add pagination to users API';
const allow = (page) => page.getByRole('button', { name: 'Allow once' });
const deny = (page) => page.getByRole('button', { name: 'Deny', exact: true });
const body = (page) => page.getByRole('region', { name: /^Request:/ });

export async function cardTests(suite) {
  await suite.test(
    'p01 every byte of a long command is reachable, counted and copied, and must be scrolled first',
    async (open) => {
      const page = await open('long-command', { session: CODING });
      await rest(page);
      assert.equal(await allow(page).isDisabled(), true);
      const shown = await page.locator('.cmd').first().textContent();
      const whole = await page.evaluate(() => window.rehearsal.payloads.get('h-long'));
      assert.equal(whole.length, 16_000);
      assert.equal(shown, whole);
      await page.getByText('Scroll to the end first · 200 lines / 16,000 chars').waitFor();
      assert.equal(
        await page
          .locator('.cmd')
          .first()
          .evaluate((element) => getComputedStyle(element).textOverflow),
        'clip',
      );
      await press(page, allow(page));
      assert.equal((await calls(page, 'decide')).length, 0);
      await page.getByRole('button', { name: 'Copy', exact: true }).click();
      assert.deepEqual(await calls(page, 'copy_text'), [{ text: whole }]);
      await body(page).evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.waitForFunction(() => !document.querySelector('[data-permissive]').disabled);
      await rest(page);
      await press(page, allow(page));
      assert.equal((await calls(page, 'decide')).length, 1);
    },
  );

  await suite.test('p01 what cannot be read to its end cannot be allowed', async (open) => {
    const page = await open('plain-approval', { session: CODING });
    await page.evaluate(() => {
      const world = window.rehearsal;
      const request = world.of(1).requests[0];
      world.payloads.set('h-cut', 'short');
      world.setRequest({
        ...request,
        digest: 'cut',
        command: { text: 'begin', chars: 9000, handle: 'h-cut' },
      });
    });
    await page.getByText('The whole text could not be read').waitFor();
    await rest(page);
    assert.equal(await allow(page).isDisabled(), true);
    assert.equal(await deny(page).isDisabled(), false);
  });

  for (const [size, options] of [
    ['480x360', { width: 480, height: 360 }],
    ['480x360 at 200 %', { width: 240, height: 180, scale: 2 }],
    ['1360x860 at 200 %', { width: 680, height: 430, scale: 2 }],
  ]) {
    for (const story of ['long-command', 'approval']) {
      await suite.test(`p02 the action row is in sight and works at ${size}, ${story}`, async (open) => {
        const page = await open(story, { ...options, session: CODING });
        await rest(page);
        await shot(page, `p02-${story}-${size.replace(/\W+/g, '-')}`);
        for (const button of [deny(page), allow(page)]) {
          const box = await button.boundingBox();
          assert.ok(
            box.x >= 0 &&
              box.y >= 0 &&
              box.x + box.width <= options.width &&
              box.y + box.height <= options.height,
            `${JSON.stringify(box)}`,
          );
          const hit = await button.evaluate((element) => {
            const place = element.getBoundingClientRect();
            return element.contains(
              document.elementFromPoint(place.x + place.width / 2, place.y + place.height / 2),
            );
          });
          assert.ok(hit, 'nothing lies over the button');
        }
        assert.equal(await page.locator('.cmd').count(), 1, 'the payload is drawn once');
        const room = await body(page).boundingBox();
        assert.ok(room.height >= 20, `the text has room: ${room.height}`);
        await press(page, deny(page));
        assert.equal((await calls(page, 'decide')).length, 1);
      });
    }
  }

  for (const [size, options] of [
    ['480x360', { width: 480, height: 360 }],
    ['1360x860 at 200 %', { width: 680, height: 430, scale: 2 }],
  ]) {
    for (const [story, name] of [
      ['client-tool', 'Send result'],
      ['question', 'Answer'],
    ]) {
      await suite.test(
        `p02 the buttons of a form are in sight without scrolling at ${size}, ${story}`,
        async (open) => {
          const page = await open(story, { ...options, session: CODING });
          const button = page.getByRole('button', { name, exact: true });
          await button.waitFor();
          await shot(page, `p02-${story}-${size.replace(/\W+/g, '-')}`);
          for (const at of ['the beginning', 'the end']) {
            const box = await button.boundingBox();
            assert.ok(box.y >= 0 && box.y + box.height <= options.height, `${at}: ${JSON.stringify(box)}`);
            assert.ok(box.x >= 0 && box.x + box.width <= options.width, `${at}: ${JSON.stringify(box)}`);
            await body(page).evaluate((element) => element.scrollTo(0, element.scrollHeight));
          }
          const room = await body(page).boundingBox();
          assert.ok(room.height >= 20, `the form has room: ${room.height}`);
        },
      );
    }
  }

  await suite.test(
    'p05 a request settled elsewhere turns read-only with who and when, and a click on it acts on nothing',
    async (open) => {
      const page = await open('approval', { session: CODING });
      await rest(page);
      const place = await deny(page).boundingBox();
      await page.mouse.move(place.x + 10, place.y + 10);
      // What is settled leaves by itself after some seconds: not before the clicks.
      await stopClock(page);
      await page.evaluate(() => {
        const world = window.rehearsal;
        world.setRequest({
          ...world.of(1).requests[0],
          state: { kind: 'elsewhere', choice: 'deny', at: Date.now() },
        });
      });
      await page.getByText(/^Answered elsewhere at \d\d:\d\d:\d\d: denied/).waitFor();
      const settled = page.locator('[data-request="call-1"]');
      assert.equal(await settled.getByRole('button', { name: /Allow|Deny/ }).count(), 0);
      await page.mouse.click(place.x + 10, place.y + 10);
      await page.evaluate(() => {
        const world = window.rehearsal;
        world.change(1, { kind: 'request_gone', request: 'call-1' });
      });
      await page.mouse.click(place.x + 11, place.y + 11);
      assert.equal((await calls(page, 'decide')).length, 0);
      await page.clock.resume();
      await page.getByText('git push origin main').waitFor();
      assert.equal((await calls(page, 'decide')).length, 0);
    },
  );

  await suite.test(
    'a request that comes while a settled card lies under the pointer is in sight at once, and nothing moves there',
    async (open) => {
      const page = await open('plain-approval', { session: CODING });
      await rest(page);
      await press(page, allow(page));
      await page.getByText(/^Accepted by the server/).waitFor();
      const settled = page.locator('[data-request="call-1"]');
      const foot = async () => {
        const box = await settled.boundingBox();
        return [box.x, box.y + box.height];
      };
      const before = await foot();
      await page.evaluate(() => {
        const world = window.rehearsal;
        const request = {
          ...world.of(1).requests[0],
          id: 'call-9',
          digest: 'digest-9',
          state: { kind: 'open' },
        };
        const text = { ...request.command, text: 'make release', chars: 12 };
        world.setRequest({
          ...request,
          command: text,
          arguments: { ...text, text: '' },
          asked_at: Date.now(),
        });
      });
      const fresh = page.locator('[data-request="call-9"]');
      await fresh.getByRole('button', { name: 'Allow once' }).waitFor();
      await fresh.getByText('make release').waitFor();
      await shot(page, 'settled-below-the-next');
      assert.deepEqual(await foot(), before, 'the settled card moved under the pointer');
      // The pointer still rests where the first was allowed: as often as it clicks there, nothing is decided.
      await rest(page);
      for (let click = 0; click < 3; click += 1) {
        await page.mouse.down();
        await page.mouse.up();
      }
      assert.equal((await calls(page, 'decide')).length, 1);
      // The pointer goes to the new card, which stays where it is for as long as it is there.
      const place = await fresh.boundingBox();
      await page.mouse.move(place.x + 40, place.y + 12);
      await page.clock.fastForward(30_000);
      await rest(page);
      assert.deepEqual(await fresh.boundingBox(), place);
      assert.equal(await settled.count(), 1);
      await page.mouse.move(5, 5);
      await settled.waitFor({ state: 'detached' });
      await rest(page);
      await press(page, fresh.getByRole('button', { name: 'Allow once' }));
      assert.deepEqual(
        (await calls(page, 'decide')).map(({ request }) => request),
        ['call-1', 'call-9'],
      );
    },
  );

  await suite.test(
    'p07 focus never lands on Allow, and Enter and Space on a fresh card do nothing',
    async (open) => {
      const page = await open('plain-approval', { session: CODING });
      for (const key of ['Enter', 'Space', 'Enter']) await page.keyboard.press(key);
      await rest(page);
      assert.equal(await page.evaluate(() => document.activeElement?.closest('.ask') !== null), false);
      for (const key of ['Enter', 'Space']) await page.keyboard.press(key);
      await page.getByLabel('Message').focus();
      await page.keyboard.press('Shift+Tab');
      const entered = await page.evaluate(() => document.activeElement?.getAttribute('role'));
      assert.equal(entered, 'region', 'coming back from the composer, the focus lands on the text');
      await page.keyboard.press('Enter');
      assert.equal((await calls(page, 'decide')).length, 0);
      // A script that moves the focus is not the person.
      await page.evaluate(() => document.activeElement.blur());
      await rest(page);
      await page.evaluate(() => document.querySelector('[data-permissive]').focus());
      for (const key of ['Enter', 'Space']) await page.keyboard.press(key);
      assert.equal((await calls(page, 'decide')).length, 0);
    },
  );

  await suite.test('p07 the keyboard can answer when the person goes there', async (open) => {
    const page = await open('plain-approval', { session: CODING });
    await rest(page);
    await page.getByLabel('Message').focus();
    await page.keyboard.press('Shift+Tab');
    for (
      let step = 0;
      step < 8 && (await page.evaluate(() => document.activeElement?.textContent?.trim())) !== 'Deny';
      step += 1
    ) {
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => window.rehearsal.calls.some((call) => call.name === 'decide'));
    assert.equal((await calls(page, 'decide'))[0].choice, 'deny');
  });

  await suite.test(
    'p08 typing in the composer while 1,000 cards come in decides nothing and loses no character',
    async (open) => {
      const page = await open('quiet', { session: CODING });
      const field = page.getByLabel('Message');
      await field.focus();
      await page.evaluate(() => {
        let count = 0;
        const world = window.rehearsal;
        const choices = [
          { id: 'deny', kind: 'deny', label: null, scope: null, takes_reason: true },
          { id: 'allow', kind: 'allow_once', label: null, scope: null, takes_reason: false },
        ];
        const inject = () => {
          const id = `flood-${count}`;
          if (count > 0) world.change(1, { kind: 'request_gone', request: `flood-${count - 1}` });
          world.change(1, {
            kind: 'request',
            request: {
              id,
              session: 1,
              server: 'srv-local',
              server_name: 'Local runner',
              kind: 'approval',
              tool: 'shell',
              source: null,
              item: null,
              agent_path: [],
              command: { text: `rm -rf ${count}`, chars: 8, handle: null },
              work_dir: null,
              arguments: { text: '', chars: 0, handle: null },
              lines: 1,
              questions: [],
              choices,
              state: { kind: 'open' },
              flags: [],
              digest: id,
              asked_at: count,
              deadline: null,
            },
          });
          count += 1;
          if (count < 1000) setTimeout(inject, 10);
          else window.floodDone = true;
        };
        inject();
      });
      const typed = 'allow this y a ok '.repeat(12);
      await page.keyboard.type(typed, { delay: 50 });
      await page.waitForFunction(() => window.floodDone === true);
      assert.equal(await field.inputValue(), typed);
      assert.equal((await calls(page, 'decide')).length, 0);
    },
  );

  await suite.test(
    'p08 a click counts only after half a second, with a pointer that moved since',
    async (open) => {
      const page = await open('quiet', { session: CODING });
      await page.mouse.move(700, 600);
      await stopClock(page);
      await page.evaluate(() => {
        const world = window.rehearsal;
        world.change(1, {
          kind: 'request',
          request: {
            id: 'c',
            session: 1,
            server: 'srv-local',
            server_name: 'Local runner',
            kind: 'approval',
            tool: 'shell',
            source: null,
            item: null,
            agent_path: [],
            command: { text: 'make', chars: 4, handle: null },
            work_dir: null,
            arguments: { text: '', chars: 0, handle: null },
            lines: 1,
            questions: [],
            choices: [{ id: 'allow', kind: 'allow_once', label: null, scope: null, takes_reason: false }],
            state: { kind: 'open' },
            flags: [],
            digest: 'c',
            asked_at: 1,
            deadline: null,
          },
        });
      });
      await allow(page).waitFor();
      // The fastest hand there is.
      await allow(page).click({ noWaitAfter: true });
      assert.equal((await calls(page, 'decide')).length, 0);
      await page.getByText('Not taken: the card had just appeared').waitFor();
      await page.clock.resume();
      await rest(page);
      await press(page, allow(page));
      await page.waitForFunction(() => window.rehearsal.calls.some((call) => call.name === 'decide'));
    },
  );

  await suite.test('p08 a press that ends on another button decides nothing', async (open) => {
    const page = await open('plain-approval', { session: CODING });
    await rest(page);
    const from = await deny(page).boundingBox();
    const to = await allow(page).boundingBox();
    await page.mouse.move(from.x + 5, from.y + 5);
    await page.mouse.down();
    await page.mouse.move(to.x + 5, to.y + 5);
    await page.mouse.up();
    assert.equal((await calls(page, 'decide')).length, 0);
  });

  await suite.test('p09 the click that activates the window is swallowed', async (open) => {
    const page = await open('plain-approval', { session: CODING });
    await rest(page);
    const place = await allow(page).boundingBox();
    await page.mouse.move(place.x + 5, place.y + 5);
    await stopClock(page);
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await page.mouse.down();
    await page.mouse.up();
    assert.equal((await calls(page, 'decide')).length, 0);
  });

  await suite.test('p15 a denial takes a reason, and a blank one is allowed', async (open) => {
    const page = await open('plain-approval', { session: CODING });
    await rest(page);
    await press(page, page.getByRole('button', { name: 'Deny with a reason…' }));
    await page.getByLabel('Reason (may be empty)').fill('not on this machine');
    await rest(page);
    await press(page, deny(page));
    await page.getByText('Accepted by the server: denied').waitFor();
    assert.deepEqual((await calls(page, 'decide'))[0], {
      session: 1,
      request: 'call-1',
      digest: 'digest-1',
      choice: 'deny',
      reason: 'not on this machine',
      answers: [],
      result: null,
    });
  });

  await suite.test('p16 a refused answer is told on the card, which stays actionable', async (open) => {
    const page = await open('plain-approval', { session: CODING });
    await page.evaluate(() =>
      window.rehearsal.failing.set('decide', {
        code: 'unreachable',
        message: 'x',
        retryable: true,
        detail: null,
      }),
    );
    await rest(page);
    await press(page, deny(page));
    await page.getByText('The server cannot be reached.').waitFor();
    await page.evaluate(() => window.rehearsal.failing.clear());
    await rest(page);
    await press(page, deny(page));
    await page.getByText('Accepted by the server: denied').waitFor();
  });

  await suite.test('p35 the Enter of an input method never sends and never decides', async (open) => {
    const page = await open('plain-approval', { session: CODING });
    const field = page.getByLabel('Message');
    await field.fill('东京');
    await field.evaluate((element) => {
      const enter = (more) =>
        element.dispatchEvent(
          new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...more }),
        );
      enter({ isComposing: true });
      enter({ keyCode: 229 });
      element.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }));
      element.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true, data: '东京' }));
      enter({ keyCode: 13 });
    });
    assert.equal((await calls(page, 'send_message')).length, 0);
    assert.equal((await calls(page, 'decide')).length, 0);
    await field.press('Enter');
    await page.waitForFunction(() => window.rehearsal.calls.some((call) => call.name === 'send_message'));
    assert.deepEqual(await calls(page, 'send_message'), [{ session: 1, text: '东京', images: [] }]);
  });

  await suite.test('s04 hidden characters are shown in place, and Deny is the loud one', async (open) => {
    const page = await open('approval', { session: CODING });
    assert.equal(await page.locator('.cmd mark').textContent(), 'U+202E');
    await page.getByText('U+202E reverses or reorders the text around it').waitFor();
    const [quiet, loud] = await Promise.all(
      [allow(page), deny(page)].map((button) =>
        button.evaluate((element) => getComputedStyle(element).backgroundColor),
      ),
    );
    const panel = await page.evaluate(() => getComputedStyle(document.querySelector('.ask')).backgroundColor);
    assert.equal(quiet, panel);
    assert.notEqual(loud, panel);
  });

  await suite.test(
    'p10 a second card does not move the first, and is reached by its buttons',
    async (open) => {
      const page = await open('plain-approval', { session: CODING });
      await rest(page);
      const before = await allow(page).boundingBox();
      await page.evaluate(() => {
        const world = window.rehearsal;
        world.setRequest({
          ...world.of(1).requests[0],
          id: 'call-2',
          digest: 'd2',
          command: { text: 'two', chars: 3, handle: null },
          asked_at: Date.now(),
        });
      });
      await page.getByText('1 of 2').waitFor();
      assert.deepEqual(await allow(page).boundingBox(), before);
      await page.getByRole('button', { name: 'Next request' }).click();
      await page.getByText('2 of 2').waitFor();
      await page.locator('.cmd', { hasText: 'two' }).waitFor();
    },
  );

  await suite.test('questions and client tools are answered with labels and text', async (open) => {
    const page = await open('question', { session: CODING });
    await page.getByRole('radio', { name: 'PostgreSQL' }).check();
    await page.getByRole('checkbox', { name: 'slow' }).check();
    await page.getByRole('checkbox', { name: 'unit' }).check();
    const answer = page.getByRole('button', { name: 'Answer', exact: true });
    await rest(page);
    await press(page, answer);
    await page.getByText('Accepted by the server: answered').waitFor();
    assert.deepEqual((await calls(page, 'decide'))[0].answers, [
      { question: 'q1', labels: ['PostgreSQL'], text: null },
      { question: 'q2', labels: ['unit', 'slow'], text: null },
    ]);

    const tool = await open('client-tool', { session: CODING });
    await tool.getByText('18446744073709551615').waitFor();
    await tool.getByLabel('Result: text or JSON').fill('{"state":"shipped"}');
    await tool.getByText('The result is valid JSON').waitFor();
    const send = tool.getByRole('button', { name: 'Send result' });
    await rest(tool);
    await press(tool, send);
    await tool.waitForFunction(() => window.rehearsal.calls.some((call) => call.name === 'decide'));
    assert.deepEqual((await calls(tool, 'decide'))[0].result, '{"state":"shipped"}');
    assert.equal((await calls(tool, 'decide'))[0].choice, 'result');
  });
}
