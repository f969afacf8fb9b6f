/** What people do at a server whose sessions are set up, and whose turns take all answers in one request. */
import assert from 'node:assert/strict';
import { axe, calls, press, rest, shot } from './harness.mjs';

const SESSION = 'Bring the release to staging';
const button = (page, name) => page.getByRole('button', { name, exact: true });
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

const wide = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** Goes to a member of the group, and lets the card rest until it takes input. */
async function goTo(page, name) {
  await page
    .getByRole('list', { name: 'Requests that are answered together' })
    .getByRole('button', { name })
    .click();
  await rest(page);
}

const WORDS = {
  en: {
    create: 'New session',
    more: 'More',
    setup: 'Tools and options…',
    begin: 'What the session begins with',
  },
  'zh-CN': { create: '新建会话', more: '更多', setup: '工具和选项…', begin: '会话的开头' },
};

const newSession = async (page, w) => {
  await button(page, w.create).first().click();
  await page.getByRole('dialog').getByText('read_file').waitFor();
};

/** Each new screen, in both themes and both languages. */
const SCREENS = {
  'turn-new-session': {
    go: async (page, w) => {
      await newSession(page, w);
      await page.getByRole('dialog').getByRole('checkbox').nth(0).check();
      await page.getByRole('dialog').getByRole('checkbox').nth(1).check();
    },
  },
  'turn-new-session-end': {
    go: async (page, w) => {
      await newSession(page, w);
      const dialog = page.getByRole('dialog');
      await dialog.getByText(w.begin).click();
      await dialog.getByRole('textbox').last().fill('Hello\nUser: hi');
      await dialog.locator('.warn').waitFor();
      await dialog.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    },
  },
  'turn-setup': {
    session: SESSION,
    go: async (page, w) => {
      await button(page, w.more).click();
      await page.getByRole('menuitem', { name: w.setup }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  'turn-group': { session: SESSION, go: rest },
  'turn-queued': {
    session: SESSION,
    go: async (page) => {
      await page
        .getByRole('list')
        .filter({ hasText: 'Leave it for today.' })
        .getByRole('button')
        .first()
        .click();
      await page.getByRole('alertdialog').waitFor();
    },
  },
  'turn-link': { session: SESSION, go: rest },
  'turn-notify': { session: SESSION, go: rest },
  'turn-read-clipboard': { session: SESSION, go: rest },
  'turn-write-clipboard': { session: SESSION, go: rest },
  'turn-unknown': { session: SESSION, go: rest },
  'turn-silent': { session: SESSION },
  'turn-let-go': { session: SESSION },
  'turn-max-tokens': { session: SESSION },
  'turn-error': { session: SESSION },
  'turn-refusal': { session: SESSION },
};
const STORIES = { 'turn-new-session': 'turns', 'turn-new-session-end': 'turns', 'turn-setup': 'turns' };

export async function turnTests(suite) {
  for (const [name, screen] of Object.entries(SCREENS)) {
    for (const theme of ['light', 'dark']) {
      for (const lang of ['en', 'zh-CN']) {
        await suite.test(`screen ${name} ${theme} ${lang}`, async (open) => {
          const page = await open(STORIES[name] ?? name, { theme, lang, session: screen.session ?? null });
          await screen.go?.(page, WORDS[lang]);
          await shot(page, `${name}-${theme}-${lang}`);
          await axe(page, name);
          assert.equal(await wide(page), 0, 'nothing is wider than the window');
        });
      }
    }
  }

  await suite.test(
    'p17 each answer of a group is decided on its own, and all of them leave together',
    async (open) => {
      const page = await open('turn-group', { session: SESSION });
      await page.getByText('0 of 3 decided, sent together').waitFor();
      await rest(page);
      await press(page, button(page, 'Allow once'));
      await page.getByText('Decided: allowed once. It is sent once all of them are decided.').waitFor();
      await page.getByText('1 of 3 decided, sent together').waitFor();
      assert.equal(await button(page, 'Allow once').count(), 0, 'what is decided is not decided again');
      await goTo(page, /open_link/);
      await press(page, button(page, 'Deny'));
      await page.getByText('2 of 3 decided, sent together').waitFor();
      await goTo(page, /ask_user/);
      await page.getByLabel('The team').check();
      await rest(page);
      await press(page, button(page, 'Answer'));
      await page.getByText('Accepted by the server: answered').waitFor();
      const decided = await calls(page, 'decide');
      assert.deepEqual(
        decided.map(({ request, choice, digest, answers }) => [request, choice, digest, answers]),
        [
          ['call_deploy', 'allow_once', 'digest-call_deploy', []],
          ['call_link', 'deny', 'digest-call_link', []],
          [
            'call_ask',
            'answer',
            'digest-call_ask',
            [{ question: 'call_ask', labels: ['The team'], text: null }],
          ],
        ],
      );
    },
  );

  await suite.test(
    'a decided one of a group can be looked at, and stays until the person goes on',
    async (open) => {
      const page = await open('turn-group', { session: SESSION });
      await rest(page);
      await press(page, button(page, 'Deny'));
      await button(page, 'Open it').waitFor();
      await rest(page);
      await goTo(page, /deploy/);
      await page.mouse.move(2, 2);
      await page.clock.fastForward(10_000);
      await page.getByText('Decided: denied.', { exact: false }).waitFor();
      await button(page, '2 more wait: show the next').click();
      await button(page, 'Open it').waitFor();
    },
  );

  await suite.test('p10 the next of a group does not come under the pointer by itself', async (open) => {
    const page = await open('turn-group', { session: SESSION });
    await rest(page);
    await press(page, button(page, 'Allow once'));
    await page.getByText('Decided: allowed once.', { exact: false }).waitFor();
    await page.mouse.down();
    await page.mouse.up();
    assert.equal((await calls(page, 'decide')).length, 1);
    await page.mouse.move(2, 2);
    await page.clock.fastForward(3000);
    await button(page, 'Open it').waitFor();
    assert.equal((await calls(page, 'decide')).length, 1);
  });

  await suite.test(
    'p08 a settled card below takes no move of the pointer from the one that waits',
    async (open) => {
      const page = await open('turn-group', { session: SESSION });
      await rest(page);
      await press(page, button(page, 'Allow once'));
      await page.getByText('Decided: allowed once.', { exact: false }).waitFor();
      await rest(page);
      await press(page, button(page, 'Open it'));
      await page.getByText('2 of 3 decided, sent together').waitFor();
      assert.equal((await calls(page, 'decide')).length, 2);
    },
  );

  await suite.test('p17 the rest of a group is denied at once, and nothing is allowed so', async (open) => {
    const page = await open('turn-group', { session: SESSION });
    await rest(page);
    await press(page, button(page, 'Allow once'));
    await page.getByText('1 of 3 decided, sent together').waitFor();
    await rest(page);
    await press(page, button(page, 'Deny the 2 that wait'));
    await page.getByText('Accepted by the server: declined').waitFor();
    assert.deepEqual(
      (await calls(page, 'decide')).map(({ request, choice, digest }) => [request, choice, digest]),
      [
        ['call_deploy', 'allow_once', 'digest-call_deploy'],
        ['call_link', 'deny', 'digest-call_link'],
        ['call_ask', 'decline', 'digest-call_ask'],
      ],
    );
    assert.equal(await page.getByRole('button', { name: /^Allow the|^Allow all/ }).count(), 0);
  });

  await suite.test('p06 an always of a tool says what it covers before it is given', async (open) => {
    const page = await open('turn-group', { session: SESSION });
    await rest(page);
    await press(page, button(page, 'Always allow…'));
    await page.getByText('Every call of deploy in this session, whatever its arguments').waitFor();
    assert.deepEqual(await calls(page, 'decide'), []);
    await rest(page);
    await press(page, button(page, 'Always allow this'));
    assert.deepEqual(
      (await calls(page, 'decide')).map(({ choice }) => choice),
      ['allow_always'],
    );
  });

  await suite.test('p07 a key on a fresh card of this app’s own tools does nothing', async (open) => {
    const page = await open('turn-read-clipboard', { session: SESSION });
    await button(page, 'Give it').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Space');
    await button(page, 'Give it').evaluate((element) => element.click());
    assert.deepEqual(await calls(page, 'decide'), []);
    await rest(page);
    await press(page, button(page, 'Give it'));
    assert.deepEqual(
      (await calls(page, 'decide')).map(({ choice, digest }) => [choice, digest]),
      [['allow_once', 'digest-call_read']],
    );
  });

  await suite.test(
    's07 a link’s card shows the address, its host apart, and that it only looks like one',
    async (open) => {
      const page = await open('turn-link', { session: SESSION });
      const card = page.locator('.ask');
      await card.getByText('https://xn--bnk-hoa.example/login?next=%2F', { exact: true }).waitFor();
      assert.equal(await card.locator('dd', { hasText: /^xn--bnk-hoa\.example$/ }).count(), 1);
      await card.getByText(/written one way and resolved another/).waitFor();
    },
  );

  await suite.test('s04 what cannot be seen in a notification is shown as its code point', async (open) => {
    const page = await open('turn-notify', { session: SESSION });
    await page.locator('mark', { hasText: 'U+202E' }).waitFor();
    assert.equal(
      await button(page, 'Show it').evaluate((element) => element.className.includes('yes')),
      false,
    );
  });

  await suite.test('p01 the clipboard’s new text is read to its end before it is given', async (open) => {
    const page = await open('turn-write-clipboard', { session: SESSION });
    await page.getByText('for the ticket').waitFor({ state: 'attached' });
    assert.equal(await button(page, 'Replace it').isDisabled(), true);
    await page.locator('.ask .body').evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.waitForFunction(() => !document.querySelector('[data-permissive]').disabled);
  });

  await suite.test('an unknown tool is answered as unknown with one button', async (open) => {
    const page = await open('turn-unknown', { session: SESSION });
    await rest(page);
    await press(page, button(page, 'Answer “unknown tool”'));
    assert.deepEqual(
      (await calls(page, 'decide')).map(({ choice, result }) => [choice, result]),
      [['unknown_tool', null]],
    );
  });

  for (const [size, options] of SMALL) {
    for (const [story, allow] of [
      ['turn-group', 'Allow once'],
      ['turn-link', 'Open it'],
      ['turn-write-clipboard', 'Replace it'],
      ['turn-unknown', 'Answer “unknown tool”'],
    ]) {
      await suite.test(`p02 the answers of ${story} are in sight at ${size}`, async (open) => {
        const page = await open(story, { ...options, session: SESSION });
        await rest(page);
        await shot(page, `${story}-${size.replace(/\W+/g, '-')}`);
        inside(await button(page, allow).boundingBox(), options, allow);
        await axe(page, `${story} at ${size}`);
        assert.equal(await wide(page), 0);
      });
    }

    await suite.test(`a session can be set up at ${size}`, async (open) => {
      const page = await open('turns', { ...options, session: SESSION });
      await button(page, 'More').click();
      await page.getByRole('menuitem', { name: 'Tools and options…' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('checkbox', { name: 'Run read_file unasked' }).uncheck();
      await shot(page, `turn-setup-${size.replace(/\W+/g, '-')}`);
      inside(await dialog.boundingBox(), options, 'the dialog');
      await axe(page, `the setup at ${size}`);
      await button(dialog, 'Save').click();
      await dialog.waitFor({ state: 'detached' });
      const [set] = await calls(page, 'set_session_setup');
      assert.deepEqual(set.setup.tools, [
        { name: 'read_file', trusted: false },
        { name: 'deploy', trusted: false },
      ]);
      assert.equal(await page.getByRole('note').filter({ hasText: 'runs unasked' }).count(), 0);
    });
  }

  await suite.test('p50 tools that run unasked are named for as long as they do', async (open) => {
    const page = await open('turns', { session: SESSION });
    const band = page.getByRole('note').filter({ hasText: 'read_file' });
    assert.equal(
      await band.locator('p').textContent(),
      'Every call of this tool runs unasked in this session, whatever its arguments: read_file',
    );
    await band.getByRole('button', { name: 'Change…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Tools and options of this session' });
    await dialog.getByText('One is kept in the keyring and is used.', { exact: false }).waitFor();
    await dialog.getByLabel('Search key').fill('sk-new');
    await button(dialog, 'Save').click();
    await dialog.waitFor({ state: 'detached' });
    const [set] = await calls(page, 'set_session_setup');
    assert.deepEqual(set.secrets, [{ name: 'search_key', value: 'sk-new' }]);
    assert.ok(!JSON.stringify(set.setup).includes('sk-new'), 'a secret stands in no setup');
  });

  await suite.test('a new session says what it is set up with and begins with', async (open) => {
    const page = await open('turns');
    await newSession(page, WORDS.en);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: /^Read a file/ }).check();
    await dialog.getByRole('checkbox', { name: 'Run read_file unasked' }).check();
    await dialog.getByText('Every call of this tool runs unasked, whatever its arguments.').waitFor();
    await dialog.getByLabel('Language').selectOption('中文');
    await dialog.getByRole('checkbox', { name: /^ask_user/ }).check();
    await dialog.getByText('What the session begins with').click();
    await dialog.getByLabel('System prompt (optional)').fill('Be brief.');
    const imported = dialog.getByLabel(/^A conversation to go on from/);
    await imported.fill('[{"role": "user", "content": "hi"}, {"role": "tool", "content": "x"}]');
    await dialog.getByText('Message 2: the role “tool” is not one of', { exact: false }).waitFor();
    assert.equal(await button(dialog, 'Create session').isDisabled(), true);
    await imported.fill('User: hi\nAgent: hello\nthere');
    await dialog.getByText('2 messages are taken over.').waitFor();
    await button(dialog, 'Create session').click();
    await dialog.waitFor({ state: 'detached' });
    const [made] = await calls(page, 'create_session');
    assert.deepEqual(
      [made.agent, made.start],
      [
        'pilot',
        {
          setup: {
            tools: [{ name: 'read_file', trusted: true }],
            options: [
              { name: 'language', value: '中文' },
              { name: 'tone', value: 'plain' },
            ],
            own_tools: ['ask_user'],
          },
          secrets: [],
          system: 'Be brief.',
          imported: [
            { role: 'user', text: 'hi' },
            { role: 'agent', text: 'hello\nthere' },
          ],
        },
      ],
    );
  });

  await suite.test('only what an agent offers is drawn', async (open) => {
    const page = await open('turns');
    await newSession(page, WORDS.en);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: /^Agent/ }).selectOption('plain');
    await dialog.getByText('read_file').waitFor({ state: 'detached' });
    for (const words of [
      'Tools of the server',
      'Options of the agent',
      'Tools of this app',
      'What the session begins with',
    ])
      assert.equal(await dialog.getByText(words).count(), 0, words);
    await button(dialog, 'Create session').click();
    await dialog.waitFor({ state: 'detached' });
    const [made] = await calls(page, 'create_session');
    assert.equal(made.start.setup, null);
  });

  await suite.test(
    's11 another origin gets the token only after it was named and agreed to',
    async (open) => {
      const page = await open('turn-origin');
      await newSession(page, WORDS.en);
      await button(page.getByRole('dialog'), 'Create session').click();
      const asked = page.getByRole('alertdialog', { name: 'Send this server’s token to another address?' });
      await asked.getByText('https://east.harbour.example', { exact: false }).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement?.textContent?.trim()), 'Cancel');
      await shot(page, 'turn-origin');
      await axe(page, 'the question about another origin');
      assert.deepEqual(await calls(page, 'edit_server'), []);
      await page.evaluate(() => window.rehearsal.failing.delete('create_session'));
      await button(asked, 'Send it there').click();
      await asked.waitFor({ state: 'detached' });
      await page.waitForFunction(
        () => window.rehearsal.calls.filter((call) => call.name === 'create_session').length === 2,
      );
      const [saved] = await calls(page, 'edit_server');
      assert.deepEqual(saved.options.trusted_origins, ['https://east.harbour.example']);
    },
  );

  await suite.test('a message behind a group is sent by declining all, said first', async (open) => {
    const page = await open('turn-queued', { session: SESSION });
    await page.getByText('Sent once the requests are answered').waitFor();
    await button(page, 'Decline all and send').click();
    const asked = page.getByRole('alertdialog', { name: 'Decline what waits?' });
    await asked.getByText('3 requests are declined', { exact: false }).waitFor();
    await button(asked, 'Decline and send').click();
    await page.getByText('Leave it for today.').waitFor({ state: 'detached' });
    assert.deepEqual(await calls(page, 'queued_message'), [
      { session: 1, id: 'q1', action: 'decline_and_send' },
    ]);
  });

  await suite.test('a turn that tells nothing counts its time, and is let go in words', async (open) => {
    const page = await open('turn-silent', { session: SESSION });
    await page.getByText(/^running for 4\d s$/).waitFor();
    await page.clock.fastForward(30_000);
    await page.getByText(/^running for 1 m 1\d s$/).waitFor();
    const stop = button(page, 'Stop waiting');
    assert.match(await stop.getAttribute('title'), /cannot be stopped.*the server goes on/);
    await stop.click();
    assert.equal((await calls(page, 'stop_session')).length, 1);
    await page.evaluate(() =>
      window.rehearsal.updateHeader(
        1,
        { stop: { kind: 'let_go', at: Date.now() } },
        { state: { kind: 'idle' } },
      ),
    );
    await page
      .getByText('The server goes on; its history will show the rest.', { exact: false })
      .first()
      .waitFor();
    assert.equal(await stop.count(), 0);
  });

  await suite.test('an end at the limit is continued, an error’s message sent again', async (open) => {
    const limit = await open('turn-max-tokens', { session: SESSION });
    await button(limit, 'Continue').click();
    assert.deepEqual(
      (await calls(limit, 'send_message')).map(({ text }) => text),
      ['Continue.'],
    );
    const error = await open('turn-error', { session: SESSION });
    await button(error, 'Send again').click();
    assert.deepEqual(
      (await calls(error, 'send_message')).map(({ text }) => text),
      ['And the notes in Chinese, please.'],
    );
    const refusal = await open('turn-refusal', { session: SESSION });
    await refusal.getByText('The model refused to go on.', { exact: false }).waitFor();
  });

  await suite.test('an image by its address goes with the message, and is not loaded', async (open) => {
    const page = await open('turns', { session: SESSION });
    await button(page, 'Add an image by its address').click();
    const panel = page.getByRole('dialog', { name: 'Add an image by its address' });
    await panel.getByLabel('Address of the image').fill('http://images.example/a.png');
    await button(panel, 'Add').click();
    await panel.getByText('Give an address that begins with https://.').waitFor();
    await axe(page, 'the image’s address');
    await panel.getByLabel('Address of the image').fill('https://images.example/a.png');
    await button(panel, 'Add').click();
    await page.getByText('https://images.example/a.png').waitFor();
    await shot(page, 'turn-image-link');
    await page.getByRole('textbox', { name: 'Message' }).fill('What is it?');
    await page.keyboard.press('Enter');
    const [sent] = await calls(page, 'send_message');
    assert.deepEqual(sent.images, [{ media_type: 'text/uri-list', data: 'https://images.example/a.png' }]);
  });

  await suite.test('an image in a tool’s result is drawn on click alone', async (open) => {
    const page = await open('turns', { session: SESSION });
    await page.getByRole('button', { name: /^read_file/ }).click();
    assert.equal(await page.getByRole('img', { name: 'Image from the event' }).count(), 0);
    await button(page, 'Show image').click();
    await page.getByRole('img', { name: 'Image from the event' }).waitFor();
    await page.getByText('Not loaded from elsewhere: image at https://images.example/notes.png').waitFor();
  });
}
