/** What people do at a server whose runs start with a request. */
import assert from 'node:assert/strict';
import { axe, calls, openSession, press, rest, shot, stopClock } from './harness.mjs';

const PORT = 'Port the importer';
const button = (page, name) => page.getByRole('button', { name, exact: true });
const always = (page) => page.getByRole('button', { name: 'Always allow…' });
const SMALL = [
  ['480x360', { width: 480, height: 360 }],
  ['480x360 at 200 %', { width: 240, height: 180, scale: 2 }],
  ['1360x860 at 200 %', { width: 680, height: 430, scale: 2 }],
];

const inside = (box, { width, height }, what) =>
  assert.ok(
    box !== null && box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height,
    `${what}: ${JSON.stringify(box)}`,
  );

export async function runTests(suite) {
  await suite.test(
    'p06 an always is given only after its scope was read, on a second button',
    async (open) => {
      const page = await open('run-approval', { session: PORT });
      await rest(page);
      await press(page, always(page));
      await page
        .getByText(
          /Exactly this command text, in any folder, in every session of this server, until the server ends/,
        )
        .waitFor();
      assert.deepEqual(await calls(page, 'decide'), []);
      await shot(page, 'p06-always');
      await axe(page, 'the always question');
      await rest(page);
      await press(page, button(page, 'Always allow this'));
      const decided = await calls(page, 'decide');
      assert.deepEqual(
        decided.map(({ choice, digest }) => [choice, digest]),
        [['always', 'digest-1']],
      );
    },
  );

  await suite.test(
    'p07 the focus of the always question is on Cancel, and a second click gives nothing',
    async (open) => {
      const page = await open('run-approval', { session: PORT });
      await rest(page);
      const box = await always(page).boundingBox();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      await page.mouse.move(x - 4, y);
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.up();
      await button(page, 'Always allow this').waitFor();
      assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), 'Cancel');
      await rest(page);
      await page.mouse.down();
      await page.mouse.up();
      await page.keyboard.press('Enter');
      assert.deepEqual(await calls(page, 'decide'), []);
      // Escape is the same as Cancel.
      await button(page, 'Cancel').focus();
      await page.keyboard.press('Escape');
      await always(page).waitFor();
      assert.deepEqual(await calls(page, 'decide'), []);
    },
  );

  for (const [size, options] of SMALL) {
    await suite.test(`p02 the always question fits at ${size}`, async (open) => {
      const page = await open('run-approval', { ...options, session: PORT });
      await rest(page);
      await shot(page, `p02-run-approval-${size.replace(/\W+/g, '-')}`);
      for (const name of ['Deny', 'Allow once'])
        inside(await button(page, name).boundingBox(), options, name);
      inside(await button(page, 'Stop').boundingBox(), options, 'Stop');
      await page.locator('.ask .body').evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.waitForFunction(() => !document.querySelector('[data-permissive]').disabled);
      await rest(page);
      await press(page, page.locator('[data-permissive]').first());
      await button(page, 'Always allow this').waitFor();
      await shot(page, `p02-always-${size.replace(/\W+/g, '-')}`);
      for (const name of ['Always allow this', 'Cancel'])
        inside(await button(page, name).boundingBox(), options, name);
      const scope = await page.getByText(/^Exactly this command text/).boundingBox();
      assert.ok(scope.height > 0, 'the scope is shown');
      // It may scroll, and is never cut.
      const room = await page.locator('.always p').boundingBox();
      assert.ok(room.height >= 14, `the scope has room: ${room.height}`);
    });
  }

  await suite.test(
    'p14 the last fifth of the time looks and reads otherwise, and nothing is answered',
    async (open) => {
      const page = await open('run-approval', { session: PORT });
      const phase = page.locator('[data-phase]');
      assert.equal(await phase.getAttribute('data-phase'), 'calm');
      const head = page.locator('.ask > header');
      const calm = await head.evaluate((element) => getComputedStyle(element).backgroundColor);
      // 300 s in all, 29 of them gone, and some more by now.
      await stopClock(page);
      const left = await page.evaluate(() => window.rehearsal.of(1).requests[0].deadline - Date.now());
      await page.clock.fastForward(left - 55_000);
      await page.getByText(/^only 0:5\d left$/).waitFor();
      assert.notEqual(await head.evaluate((element) => getComputedStyle(element).backgroundColor), calm);
      await shot(page, 'p14-soon');
      await page.clock.fastForward(60_000);
      await page.getByText('time is up: asking the server').waitFor();
      assert.deepEqual(await calls(page, 'decide'), []);
      await page.evaluate(() => {
        const world = window.rehearsal;
        world.setRequest({ ...world.of(1).requests[0], state: { kind: 'expired' } });
      });
      await page.getByText('Expired: the server stopped waiting. It was not denied by you.').waitFor();
      await shot(page, 'p14-expired');
    },
  );

  await suite.test('p05 what was settled elsewhere closes its card quietly', async (open) => {
    const page = await open('run-approval', { session: PORT });
    await page.locator('.ask').waitFor();
    await page.evaluate(() => {
      const world = window.rehearsal;
      world.setRequest({
        ...world.of(1).requests[0],
        state: { kind: 'elsewhere', choice: null, at: Date.now() },
      });
    });
    await page.getByText(/^Answered elsewhere at/).waitFor();
    assert.equal(await button(page, 'Allow once').count(), 0);
    await page.clock.fastForward(7000);
    await page.locator('.ask').waitFor({ state: 'detached' });
    assert.equal(await page.locator('.toast').count(), 0);
  });

  await suite.test('p36 an answer survives leaving the session and a reload', async (open) => {
    const page = await open('run-question', { session: PORT });
    await page.getByLabel('CSV').check();
    await page.getByLabel('Something else').fill('and tabs');
    await openSession(page, '整理发布说明');
    await openSession(page, PORT);
    assert.equal(await page.getByLabel('Something else').inputValue(), 'and tabs');
    await page.reload();
    await openSession(page, PORT);
    assert.equal(await page.getByLabel('CSV').isChecked(), true);
    assert.equal(await page.getByLabel('Something else').inputValue(), 'and tabs');
    assert.deepEqual(await calls(page, 'decide'), []);
  });

  await suite.test(
    'a message into a run is a chip that turns into the message that was taken in',
    async (open) => {
      const page = await open('run-steered', { session: PORT });
      await page.getByText('accepted, not taken up yet').waitFor();
      await shot(page, 'run-steered');
      await page.getByLabel('Message').fill('And use tabs.');
      await page.keyboard.press('Enter');
      await page.getByText('And use tabs.').waitFor();
      assert.equal(await page.getByText('accepted, not taken up yet').count(), 2);
      await page.evaluate(() => {
        const world = window.rehearsal;
        for (const item of world.of(1).items)
          if (item.body.kind === 'message' && item.body.state.kind === 'queued')
            world.change(1, {
              kind: 'item',
              item: { ...item, body: { ...item.body, state: { kind: 'done' } } },
            });
      });
      await page.getByText('accepted, not taken up yet').first().waitFor({ state: 'detached' });
      assert.equal(await page.getByText('And use tabs.').count(), 1);
    },
  );

  await suite.test('a rule’s answers are rows without buttons, and a summary is folded', async (open) => {
    const page = await open('run-everything', { session: PORT });
    await page.getByText('Turn ended: the context is full').waitFor();
    await button(page, 'What the model keeps').click();
    await page.getByText('tests: 41 green').waitFor();
    await shot(page, 'run-summary');
    for (const words of [
      'The agent is done with your message',
      'Something newer took the place of your message: And use tabs.',
      'Compacting was tried, and nothing was gained',
      'Compacting the context…',
    ])
      assert.equal(await page.getByText(words).count(), 1, words);
    await page.locator('.feed').hover();
    await page.mouse.wheel(0, -20_000);
    const row = page.getByRole('group', { name: 'Command answered by a rule' });
    await row.first().waitFor();
    assert.equal(await row.getByRole('button').count(), 0);
    assert.ok((await row.nth(1).textContent()).includes('U+202E'), 'what cannot be seen is shown');
    assert.equal(await page.getByText(/run by the server itself/).count(), 1);
    assert.equal(await page.getByText(/skipped: a message came first/).count(), 1);
  });

  for (const [size, options] of SMALL) {
    await suite.test(`p50 the mark of what runs unasked is in sight at ${size}`, async (open) => {
      const page = await open('run-unasked', { ...options, session: PORT });
      const mark = page.getByRole('note').filter({ hasText: 'every command runs without asking' });
      const box = await mark.boundingBox();
      assert.ok(box.y >= 0 && box.y + box.height <= options.height, JSON.stringify(box));
      const colour = await mark.evaluate((element) => getComputedStyle(element).backgroundColor);
      assert.notEqual(colour, 'rgba(0, 0, 0, 0)');
      await shot(page, `p50-${size.replace(/\W+/g, '-')}`);
      await axe(page, `the mark at ${size}`);
    });

    await suite.test(`the run options can be set at ${size}`, async (open) => {
      const page = await open('runs', { ...options, session: PORT });
      await page.getByRole('button', { name: /^Run options/ }).click();
      const panel = page.getByRole('dialog', { name: 'How the next runs are asked for' });
      await panel.getByLabel('Run all without asking').check();
      await shot(page, `run-options-${size.replace(/\W+/g, '-')}`);
      inside(await panel.boundingBox(), options, 'the panel');
      await panel.getByRole('button', { name: 'Use from the next run on' }).click();
      await panel.waitFor({ state: 'detached' });
      const [set] = await calls(page, 'set_run_options');
      assert.deepEqual(set.options.approvals, { mode: 'auto' });
      await page.getByRole('note').filter({ hasText: 'From the next run on: every command' }).waitFor();
    });
  }

  await suite.test('p35 composing after an @ neither completes nor sends', async (open) => {
    const page = await open('runs', { session: PORT });
    const field = page.getByLabel('Message');
    await field.click();
    await page.keyboard.type('@');
    await page.getByRole('listbox').waitFor();
    const session = await page.context().newCDPSession(page);
    await session.send('Input.imeSetComposition', { text: 'dao', selectionStart: 3, selectionEnd: 3 });
    await session.send('Input.insertText', { text: '导入' });
    await page.getByRole('option', { name: /导入说明/ }).waitFor();
    assert.deepEqual(await calls(page, 'send_message'), []);
    assert.equal(await field.inputValue(), '@导入');
    await shot(page, 'mentions');
    await axe(page, 'the completions');
    await page.keyboard.press('Tab');
    assert.equal(await field.inputValue(), '@docs/导入说明.md ');
    assert.equal(await field.evaluate((element) => element === document.activeElement), true);
  });

  await suite.test('a dropped image goes with the message, a dropped text does not', async (open) => {
    const page = await open('runs', { session: PORT });
    const drop = (bytes, name) =>
      page.locator('.comp').evaluate(
        (element, [content, named]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(content)], named));
          for (const kind of ['dragover', 'drop'])
            element.dispatchEvent(
              new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }),
            );
        },
        [bytes, name],
      );
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGM4YRSABzGMSmNDAHs+bXl9M4mBAAAAAElFTkSuQmCC',
      'base64',
    );
    await drop([...png], 'square.png');
    await page.getByRole('img', { name: 'square.png' }).waitFor();
    await drop([104, 105], 'hi.txt');
    await page.getByText('hi.txt is no PNG, JPEG, GIF or WebP image.').waitFor();
    await shot(page, 'images');
    await axe(page, 'the images');
    await page.getByRole('textbox', { name: 'Message' }).fill('what is it?');
    await page.keyboard.press('Enter');
    const [sent] = await calls(page, 'send_message');
    assert.deepEqual(
      [sent.text, sent.images.map(({ media_type }) => media_type), sent.images[0].data],
      ['what is it?', ['image/png'], png.toString('base64')],
    );
  });
}
