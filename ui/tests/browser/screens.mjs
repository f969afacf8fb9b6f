/** Each screen, in both themes and both languages: drawn, clean by axe, and kept as a picture to look at. */
import assert from 'node:assert/strict';
import { axe, openSession, press, rest, shot } from './harness.mjs';

const CODING = 'Add pagination to users API';
const PORT = 'Port the importer';

/** Names in both languages of what a screen is reached by. */
const WORDS = {
  en: {
    history: 'History',
    servers: 'Servers',
    settings: 'Settings',
    add: 'Add server',
    advanced: 'Advanced…',
    create: 'New session',
    connect: 'Connect',
    address: 'Server address',
    token: 'Token',
    more: 'More',
    goal: 'Set a goal…',
    start: 'Start practising',
    search: 'Search titles and text',
    remove: 'Remove…',
    pause: 'Pause',
    moreFor: 'More for Local runner',
    aside: 'Ask aside…',
    context: 'Context 62 %',
  },
  'zh-CN': {
    history: '历史',
    servers: '服务器',
    settings: '设置',
    add: '添加服务器',
    advanced: '高级…',
    create: '新建会话',
    connect: '连接',
    address: '服务器地址',
    token: '令牌',
    more: '更多',
    goal: '设定目标…',
    start: '开始练习',
    search: '搜索标题和内容',
    remove: '移除…',
    pause: '暂停',
    moreFor: 'Local runner 的更多操作',
    aside: '旁问…',
    context: '上下文 62%',
  },
};

const button = (page, name) => page.getByRole('button', { name, exact: true });

const SCREENS = {
  'first-run': { story: 'first-run' },
  'first-run-refused': {
    story: 'first-run',
    go: async (page, w) => {
      await page.getByLabel(w.address).fill('http://127.0.0.1:3290/locked');
      await button(page, w.connect).click();
      await page.getByText(/401/).first().waitFor();
    },
  },
  'first-run-keyring': {
    story: 'keyring-missing',
    go: async (page, w) => {
      await page.getByLabel(w.address).fill('http://127.0.0.1:3290');
      await page.getByLabel(w.token).fill('secret');
      await button(page, w.connect).click();
      await page
        .getByRole('alert')
        .filter({ has: page.getByRole('button') })
        .first()
        .waitFor();
    },
  },
  'first-run-insecure': {
    story: 'first-run',
    go: async (page, w) => {
      await page.getByLabel(w.address).fill('http://agents.example.com');
      await button(page, w.connect).click();
      await page.getByRole('alertdialog').waitFor();
    },
  },
  'no-environment': {
    story: 'no-environment',
    go: async (page, w) => {
      await page.getByLabel(w.address).fill('http://127.0.0.1:3290');
      await button(page, w.connect).click();
      await page.getByText(/no environment yet|还没有环境/).waitFor();
    },
  },
  scenarios: {
    story: 'first-run',
    go: async (page, w) => {
      await button(page, w.start).click();
      await page.getByText('东京天气').first().waitFor();
    },
  },
  session: { story: 'approval', session: CODING, go: (page) => rest(page) },
  'session-plain': { story: 'plain-approval', session: CODING, go: (page) => rest(page) },
  'session-chinese': { story: 'chinese', session: '东京天气简报', go: (page) => rest(page) },
  'session-everything': { story: 'everything', session: CODING },
  'session-everything-top': {
    story: 'everything',
    session: CODING,
    go: async (page) => {
      await page.locator('.feed').hover();
      await page.mouse.wheel(0, -20_000);
      await page.getByText('Show me everything').waitFor();
    },
  },
  'session-unreachable': { story: 'unreachable', session: CODING },
  'session-question': { story: 'question', session: CODING },
  'session-client-tool': { story: 'client-tool', session: CODING },
  'session-long-command': { story: 'long-command', session: CODING, go: (page) => rest(page) },
  'session-goal': {
    story: 'quiet',
    session: CODING,
    go: async (page, w) => {
      await button(page, w.more).click();
      await page.getByRole('menuitem', { name: w.goal }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  'link-asked': {
    story: 'doubtful-links',
    session: CODING,
    go: async (page) => {
      await page.getByRole('link', { name: 'https://bank.test/login' }).click();
      await page.getByRole('alertdialog').waitFor();
    },
  },
  'no-session': { story: 'practising' },
  servers: { story: 'practising', go: (page, w) => button(page, w.servers).click() },
  'servers-add': {
    story: 'approval',
    go: async (page, w) => {
      await button(page, w.servers).click();
      await button(page, w.add).click();
      await button(page, w.advanced).click();
    },
  },
  'servers-remove': {
    story: 'approval',
    go: async (page, w) => {
      await button(page, w.servers).click();
      await button(page, w.moreFor).click();
      await page.getByRole('menuitem', { name: w.remove }).click();
      await page.getByRole('alertdialog').waitFor();
    },
  },
  'new-session': {
    story: 'approval',
    go: async (page, w) => {
      await page.getByRole('button', { name: w.create }).first().click();
      await page.getByRole('dialog').getByRole('combobox').nth(2).waitFor();
    },
  },
  history: { story: 'approval', go: (page, w) => button(page, w.history).click() },
  'history-search': {
    story: 'chinese',
    go: async (page, w) => {
      await button(page, w.history).click();
      await page.getByLabel(w.search).fill('天气');
      await page.locator('mark').first().waitFor();
    },
  },
  'history-nothing': {
    story: 'approval',
    go: async (page, w) => {
      await button(page, w.history).click();
      await page.getByLabel(w.search).fill('zzzz');
      await page.getByText('zzzz').first().waitFor();
    },
  },
  settings: { story: 'practising', go: (page, w) => button(page, w.settings).click() },
  runs: { story: 'runs', session: PORT },
  'run-approval': { story: 'run-approval', session: PORT, go: (page) => rest(page) },
  'run-approval-late': { story: 'run-approval-late', session: PORT, go: (page) => rest(page) },
  'run-always': {
    story: 'run-approval',
    session: PORT,
    go: async (page) => {
      await rest(page);
      await press(page, page.locator('[data-permissive]').first());
      await page.locator('.always').waitFor();
    },
  },
  'run-question': { story: 'run-question', session: PORT },
  'run-everything': { story: 'run-everything', session: PORT },
  'run-everything-top': {
    story: 'run-everything',
    session: PORT,
    go: async (page) => {
      await page.locator('.feed').hover();
      await page.mouse.wheel(0, -20_000);
    },
  },
  'run-not-asked': { story: 'run-not-asked', session: PORT },
  'run-servers': { story: 'run-not-asked', go: (page, w) => button(page, w.servers).click() },
  'run-servers-models': { story: 'runs', go: (page, w) => button(page, w.servers).click() },
  'run-stops': {
    story: 'run-live',
    go: async (page, w) => {
      await button(page, w.servers).click();
      await button(page, w.pause).click();
      await page.getByRole('alertdialog').waitFor();
    },
  },
  'run-resumable': { story: 'run-resumable', session: PORT },
  'run-foreign': { story: 'run-foreign', session: PORT },
  'run-unasked': { story: 'run-unasked', session: PORT },
  'run-listed': {
    story: 'run-listed',
    session: PORT,
    go: async (page) => {
      await page.locator('.comp').getByRole('button').last().click();
      await page.locator('.popover').waitFor();
    },
  },
  'run-aside': {
    story: 'runs',
    session: PORT,
    go: async (page, w) => {
      await button(page, w.more).click();
      await page.getByRole('menuitem', { name: w.aside }).click();
      await page.getByRole('dialog').getByRole('textbox').fill('Which tests are left?');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').getByRole('region').waitFor();
    },
  },
  'run-context': {
    story: 'runs',
    session: PORT,
    go: async (page, w) => {
      await button(page, w.context).click();
      await page.locator('.popover').waitFor();
    },
  },
  'close-asked': {
    story: 'approval',
    go: async (page) => {
      await page.evaluate(() => window.rehearsal.closeAsked(2, false));
      await page.getByRole('alertdialog').waitFor();
    },
  },
};

export async function screenTests(suite) {
  await suite.test('a screen that is still to come leaves what stands, and no empty one', async (open) => {
    let release;
    const until = new Promise((done) => (release = done));
    const held = { files: /\/(SessionScreen|SettingsScreen)-[^/]+\.js$/, until };
    const page = await open('practising', { held });
    const home = page.getByRole('heading', { level: 1, name: 'Pick a session' });
    await button(page, 'Settings').click();
    await page.locator('[aria-current="page"]', { hasText: 'Settings' }).waitFor();
    assert.equal(await home.isVisible(), true, 'the screen before it stands');
    release();
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    assert.equal(await home.count(), 0);
    await openSession(page, CODING);
  });

  for (const [name, screen] of Object.entries(SCREENS)) {
    for (const theme of ['light', 'dark']) {
      for (const lang of ['en', 'zh-CN']) {
        await suite.test(`screen ${name} ${theme} ${lang}`, async (open) => {
          const page = await open(screen.story, { theme, lang, session: screen.session ?? null });
          await screen.go?.(page, WORDS[lang]);
          await shot(page, `${name}-${theme}-${lang}`);
          await axe(page, name);
          const wide = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          assert.equal(wide, 0, 'nothing is wider than the window');
        });
      }
    }
  }

  const small = [
    ['480x360', { width: 480, height: 360 }],
    ['zoom200', { width: 680, height: 430, scale: 2 }],
    ['480x360-zoom200', { width: 240, height: 180, scale: 2 }],
  ];
  for (const [size, options] of small) {
    for (const [name, story, session, screenName] of [
      ['first-run', 'first-run', null, null],
      ['session', 'approval', CODING, null],
      ['runs', 'run-not-asked', PORT, null],
      ['run-resumable', 'run-resumable', PORT, null],
      ['servers', 'practising', null, 'Servers'],
      ['run-servers', 'run-not-asked', null, 'Servers'],
      ['settings', 'practising', null, 'Settings'],
      ['history', 'approval', null, 'History'],
    ]) {
      await suite.test(`small ${name} ${size}`, async (open) => {
        const page = await open(story, { ...options });
        if (session !== null) await openSession(page, session);
        if (screenName !== null) {
          await page.getByRole('button', { name: 'Open the sidebar' }).click();
          await button(page, screenName).click();
        }
        await shot(page, `small-${name}-${size}`);
        await axe(page, `${name} at ${size}`);
        const wide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.equal(wide, 0, 'nothing is wider than the window');
      });
    }
  }

  for (const [size, options] of [
    ['1360x860', {}],
    ['480x360', { width: 480, height: 360 }],
  ]) {
    await suite.test(
      `a message of the app covers nothing of a session and no head, ${size}`,
      async (open) => {
        const page = await open('plain-approval', { ...options, session: CODING });
        await page.evaluate(() =>
          window.rehearsal.overview({ kind: 'notice', text: 'Something was said by a server.' }),
        );
        await page.getByText('Something was said by a server.').waitFor();
        await shot(page, `toast-session-${size}`);
        const free = (button) =>
          button.evaluate((element) => {
            const box = element.getBoundingClientRect();
            const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
            return box.bottom <= innerHeight && element.contains(at);
          });
        for (const name of ['Stop', 'Deny', 'Allow once'])
          assert.ok(await free(page.getByRole('button', { name, exact: true })), name);
        await page.evaluate(() =>
          [...document.querySelectorAll('nav button')].find((b) => b.textContent.includes('Servers')).click(),
        );
        const add = button(page, 'Add server');
        await add.waitFor();
        await shot(page, `toast-servers-${size}`);
        assert.ok(await free(add), 'Add server');
      },
    );
  }

  for (const [size, options] of [
    ['1360x860', {}],
    ['480x360', { width: 480, height: 360 }],
  ]) {
    await suite.test(`what was done is told for a while and pushes nothing, ${size}`, async (open) => {
      const page = await open('runs', { ...options, session: PORT });
      const export_ = async () => {
        await page.getByRole('button', { name: 'More', exact: true }).click();
        await page.getByRole('menuitem', { name: 'Save as a page', exact: true }).click();
      };
      const feed = page.locator('.feed');
      const before = await feed.boundingBox();
      const told = page.getByRole('status').filter({ hasText: 'session-1.html' });
      const words = told.getByText(/session-1\.html/);
      await export_();
      await words.waitFor();
      assert.deepEqual(await feed.boundingBox(), before, 'the transcript was pushed');
      const bar = button(page, 'Details');
      assert.ok(
        await bar.evaluate((element) => {
          const { x, y, width, height } = element.getBoundingClientRect();
          return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
        }),
        'the bar can be used',
      );
      await shot(page, `told-${size}`);
      await axe(page, 'a passing message');
      await words.hover();
      await page.clock.fastForward(60_000);
      assert.equal(await words.count(), 1, 'it stays under the pointer');
      await told.getByRole('button', { name: 'Dismiss' }).focus();
      await page.mouse.move(5, 200);
      await page.clock.fastForward(60_000);
      assert.equal(await words.count(), 1, 'it stays under the focus');
      await page.evaluate(() => document.activeElement.blur());
      await page.clock.fastForward(60_000);
      await words.waitFor({ state: 'detached' });
    });
  }

  await suite.test('the language changes in place and nothing of the session is lost', async (open) => {
    const page = await open('streaming', { session: CODING });
    await page.getByLabel('Message').fill('half a sentence');
    await button(page, 'Settings').click();
    await page.getByRole('radio', { name: '简体中文' }).check();
    await page.getByRole('heading', { level: 1, name: '设置' }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-CN');
    await page.getByRole('radio', { name: '深色' }).check();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await page.getByRole('button', { name: CODING }).first().click();
    assert.equal(await page.getByLabel('消息').inputValue(), 'half a sentence');
  });
}
