/** The page over a server whose runs start with a request: it reads capabilities and never asks which protocol it is. */
import { render, screen, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import App from '../App.svelte';
import { inTime } from './chunks';
import {
  runApproval,
  runApprovalLate,
  runEverything,
  runForeign,
  runLive,
  runNotAsked,
  runQuestion,
  runResumable,
  runs,
} from '$lib/backend/fake/stories/runs';
import type { World } from '$lib/backend/fake/world';

// What the first screen does without is here before anything is timed.
await inTime();

const TITLE = 'Port the importer';

async function open(world: World) {
  world.facts.preferences.language = 'en';
  const shown = render(App, { backend: world });
  const user = userEvent.setup();
  await user.click(await screen.findByTitle(TITLE));
  await screen.findByRole('heading', { level: 1, name: TITLE });
  return { user, ...shown };
}

const calls = (world: World, name: string) =>
  world.calls.filter((call) => call.name === name).map((call) => call.args);
const button = (name: string | RegExp) => screen.getByRole('button', { name });

describe('server', () => {
  it('says that commands are not asked about, and switches to the level that asks', async () => {
    const world = runNotAsked();
    const { user } = await open(world);
    screen.getByText(/runs commands without asking: nothing will be put before you.*“full”/);
    await user.click(button('Switch to “ask”'));
    expect(calls(world, 'change_server_setting')).toEqual([
      { server: 'srv-runs', setting: { kind: 'permission', to: 'ask' } },
    ]);
    await vi.waitFor(() => expect(screen.queryByText(/runs commands without asking/)).toBeNull());
    screen.getByText(/No model is set up on this server: nothing can run/);
  });

  it('offers no switch where the server takes no settings', async () => {
    const world = runNotAsked();
    const [server] = world.servers;
    if (server !== undefined)
      world.servers = [{ ...server, capabilities: { ...server.capabilities, settings: false } }];
    await open(world);
    screen.getByText(/Start it with a permission level that asks/);
    expect(screen.queryByRole('button', { name: 'Switch to “ask”' })).toBeNull();
  });

  it('shows what it says of itself, and puts back a model the server did not take', async () => {
    const world = runs();
    world.failing.set('change_server_setting', { code: 'busy', message: 'x', retryable: true, detail: null });
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.click(await screen.findByRole('button', { name: 'Servers' }));
    screen.getByText('/home/you/importer');
    screen.getByText('0.2.0');
    const model = screen.getByRole<HTMLSelectElement>('combobox', { name: 'Model' });
    await user.selectOptions(model, 'Small');
    await screen.findByText('A turn is running: the message was not taken.');
    expect(model.value).toBe('Large');
  });

  it('asks before a run that cannot be left is stopped by pausing, and does nothing on Cancel', async () => {
    const world = runLive();
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.click(await screen.findByRole('button', { name: 'Servers' }));
    await user.click(button('Pause'));
    await user.click(within(await screen.findByRole('alertdialog')).getByRole('button', { name: 'Cancel' }));
    expect(world.servers[0]?.paused).toBe(false);
    await user.click(button('Pause'));
    const dialog = await screen.findByRole('alertdialog', { name: 'This stops a run' });
    await user.click(within(dialog).getByRole('button', { name: 'Stop the run' }));
    await vi.waitFor(() => expect(world.servers[0]?.paused).toBe(true));
    expect(calls(world, 'pause_server')).toEqual([
      { server: 'srv-runs', paused: true },
      { server: 'srv-runs', paused: true },
      { server: 'srv-runs', paused: true, stop_runs: true },
    ]);
  });

  it('asks before an edit stops a run, over the form that is open', async () => {
    const world = runLive();
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.click(await screen.findByRole('button', { name: 'Servers' }));
    await user.click(button('More for Workbench'));
    await user.click(await screen.findByRole('menuitem', { name: 'Edit' }));
    const form = await screen.findByRole('dialog', { name: 'Edit Workbench' });
    await user.click(within(form).getByRole('button', { name: 'Save' }));
    const asked = await screen.findByRole('alertdialog', { name: 'This stops a run' });
    await user.click(within(asked).getByRole('button', { name: 'Cancel' }));
    await screen.findByRole('dialog', { name: 'Edit Workbench' });
    await user.click(within(form).getByRole('button', { name: 'Save' }));
    const again = await screen.findByRole('alertdialog', { name: 'This stops a run' });
    await user.click(within(again).getByRole('button', { name: 'Stop the run' }));
    await vi.waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    expect(calls(world, 'edit_server').map((args) => 'stop_runs' in (args as object))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('asks before switching the practice server off stops a run, and leaves the switch as it is on Cancel', async () => {
    const world = runLive();
    world.servers = world.servers.map((server) => ({ ...server, id: 'practice', practice: true }));
    world.updateHeader(1, {}, { server: 'practice' });
    world.facts.preferences.practice_on = true;
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.click(await screen.findByRole('button', { name: 'Settings' }));
    const box = await screen.findByRole<HTMLInputElement>('checkbox', { name: /^A built-in server/ });
    await user.click(box);
    const asked = await screen.findByRole('alertdialog', { name: 'This stops a run' });
    await user.click(within(asked).getByRole('button', { name: 'Cancel' }));
    await vi.waitFor(() => expect(box.checked).toBe(true));
    await user.click(button('Servers'));
    await user.click(await screen.findByRole('button', { name: 'Turn off' }));
    const again = await screen.findByRole('alertdialog', { name: 'This stops a run' });
    await user.click(within(again).getByRole('button', { name: 'Stop the run' }));
    await screen.findByRole('button', { name: 'Turn on' });
    expect(calls(world, 'set_practice')).toEqual([
      { on: false },
      { on: false },
      { on: false, stop_runs: true },
    ]);
  });

  it('asks before another token stops a run, over the dialog that is open', async () => {
    const world = runLive();
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.click(await screen.findByRole('button', { name: 'Servers' }));
    await user.click(button('More for Workbench'));
    await user.click(await screen.findByRole('menuitem', { name: 'Replace token…' }));
    const form = await screen.findByRole('dialog');
    await user.click(within(form).getByRole('button', { name: 'Save token' }));
    const asked = await screen.findByRole('alertdialog', { name: 'This stops a run' });
    await user.click(within(asked).getByRole('button', { name: 'Cancel' }));
    await screen.findByRole('dialog');
    await user.click(within(form).getByRole('button', { name: 'Save token' }));
    const again = await screen.findByRole('alertdialog', { name: 'This stops a run' });
    await user.click(within(again).getByRole('button', { name: 'Stop the run' }));
    await vi.waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    expect(calls(world, 'replace_token').at(-1)).toEqual({
      server: 'srv-runs',
      token: '',
      session_only: false,
      stop_runs: true,
    });
  });

  it('says before a session is made that its commands would not be asked about', async () => {
    render(App, { backend: runNotAsked() });
    const user = userEvent.setup();
    await user.click(
      await within(await screen.findByRole('navigation')).findByRole('button', { name: /New session/ }),
    );
    const dialog = await screen.findByRole('dialog', { name: 'New session' });
    within(dialog).getByText(/runs commands without asking/);
  });

  it('says in the question itself that removing stops a run, and asks once', async () => {
    const world = runLive();
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.click(await screen.findByRole('button', { name: 'Servers' }));
    await user.click(button('More for Workbench'));
    await user.click(await screen.findByRole('menuitem', { name: 'Remove…' }));
    const dialog = await screen.findByRole('alertdialog');
    within(dialog).getByText(/^This stops its run\./);
    await user.click(within(dialog).getByRole('button', { name: 'Stop the run and remove' }));
    await vi.waitFor(() => expect(world.servers).toEqual([]));
    expect(calls(world, 'remove_server')).toEqual([{ server: 'srv-runs', stop_runs: true }]);
  });
});

describe('session', () => {
  it('offers what its server can, and opens the copy', async () => {
    const world = runs();
    const { user } = await open(world);
    await user.click(button('More'));
    const names = (await screen.findAllByRole('menuitem')).map((entry) => entry.textContent);
    expect(names).toEqual([
      'Rename…',
      'Let the model name it',
      'Ask aside…',
      'Compact the context',
      'Copy, and open the copy',
      'Save as a page',
    ]);
    await user.click(screen.getByRole('menuitem', { name: 'Copy, and open the copy' }));
    await vi.waitFor(() => expect(calls(world, 'open_session')).toContainEqual({ session: 3 }));
  });

  it('tells where a saved page lies', async () => {
    const { user } = await open(runs());
    await user.click(button('More'));
    await user.click(await screen.findByRole('menuitem', { name: 'Save as a page' }));
    await screen.findByText('Saved as /home/you/Downloads/session-1.html (12.1 KiB).');
  });

  it('asks aside apart from the transcript, and sends nothing to it', async () => {
    const world = runs();
    const { user } = await open(world);
    await user.click(button('More'));
    await user.click(await screen.findByRole('menuitem', { name: 'Ask aside…' }));
    const dialog = await screen.findByRole('dialog', { name: 'Ask aside' });
    within(dialog).getByText(/neither the question nor the answer is kept/);
    await user.type(within(dialog).getByLabelText('Question'), 'why?{Enter}');
    await within(dialog).findByRole('region', { name: 'Answer, not kept' });
    expect([calls(world, 'ask_aside'), calls(world, 'send_message')]).toEqual([
      [{ session: 1, question: 'why?' }],
      [],
    ]);
  });

  it('shows how full the context is, and asks the server only when the person wants to know', async () => {
    const world = runs();
    const { user } = await open(world);
    await user.click(button('Context 62 %'));
    const panel = await screen.findByRole('dialog', { name: 'What fills the context' });
    within(panel).getByText('124,310 of 200,000 tokens');
    within(panel).getByText('88,204 in 41 pieces');
    within(panel).getByText('Parts of it could not be counted.');
    expect(calls(world, 'session_context')).toEqual([]);
    await user.click(within(panel).getByRole('button', { name: 'Read it again' }));
    expect(calls(world, 'session_context')).toEqual([{ session: 1 }]);
  });

  it('reads a context that nobody has told when it is looked at, and not before', async () => {
    const world = runs({ header: { context: null } });
    const { user } = await open(world);
    expect(calls(world, 'session_context')).toEqual([]);
    await user.click(button('Context'));
    await screen.findByText('The server cannot tell now.');
    expect(calls(world, 'session_context')).toEqual([{ session: 1 }]);
  });

  it('says how much of the context is used where nobody knows how much there is', async () => {
    const world = runs({ header: { context: { used: 41_250, window: null, shares: [], partial: false } } });
    const { user } = await open(world);
    await user.click(button('Context 41,250 tokens'));
    await screen.findByText('41,250 tokens. The server does not say how many there is room for.');
  });

  it('tells what compacting did in numbers', async () => {
    const world = runs();
    const { user } = await open(world);
    await user.click(button('More'));
    await user.click(await screen.findByRole('menuitem', { name: 'Compact the context' }));
    await screen.findByText('The context was compacted: 124,310 tokens before, 31,078 now.');
  });

  it('offers to take up a run that ended early, in the words of the server', async () => {
    const world = runResumable();
    const { user } = await open(world);
    screen.getByText('A run ended early and can be taken up again: The model was about to answer.');
    expect(screen.queryByText(/The run broke off before its end/)).toBeNull();
    await user.click(button('Resume'));
    expect(calls(world, 'resume_run')).toEqual([{ session: 1 }]);
    await vi.waitFor(() => expect(screen.queryByRole('button', { name: 'Resume' })).toBeNull());
  });

  it('says that another client drives the run', async () => {
    await open(runForeign());
    screen.getByText(/^Another client drives this run/);
  });

  it('p22 a closed stream between runs is not a lost connection', async () => {
    await open(runs());
    expect(screen.queryByText(/Not live/)).toBeNull();
    expect(screen.queryByRole('button', { name: 'Retry now' })).toBeNull();
  });

  it('p21 silence is told as no news, and nothing is offered that would cut the stream', async () => {
    const world = runLive();
    await open(world);
    world.updateHeader(1, {}, { last_event_at: Date.now() - 45_000 });
    await screen.findByText(/^no news for 4\d s$/);
    expect(screen.queryByRole('button', { name: 'Retry now' })).toBeNull();
  });

  it('offers to compact where the context was full', async () => {
    const world = runEverything();
    const { user } = await open(world);
    screen.getByText('The model’s context is full. Compact it to go on.');
    await user.click(button('Compact the context'));
    expect(calls(world, 'compact_session')).toEqual([{ session: 1 }]);
  });

  it('p43 tells reasoning, requests and the model’s time of a run', async () => {
    await open(runs());
    const details = screen.getByRole('complementary');
    for (const words of ['Of those, reasoning', '812', 'Requests to the model', '6', 'Model time', '41 s'])
      within(details).getByText(words);
  });
});

describe('request', () => {
  it('p06 says what “always” covers before it can be given', async () => {
    await open(runApproval());
    await screen.findByRole('button', { name: 'Always allow…' });
    expect(screen.queryByRole('button', { name: 'Always allow this' })).toBeNull();
    screen.getByText('/home/you/importer/packages/reader');
  });

  it('p06 a command with hidden characters is never always allowed', async () => {
    const world = runApproval();
    const request = world.of(1).requests[0];
    if (request !== undefined) request.work_dir = '/home/you/\u202Egro';
    await open(world);
    await screen.findByRole('button', { name: 'Allow once' });
    expect(screen.queryByRole('button', { name: 'Always allow…' })).toBeNull();
    screen.getByText('flagged: once only');
  });

  it('p14 counts down, and says in other words when little is left', async () => {
    const world = runApproval();
    await open(world);
    await screen.findByText(/^the server gives up in [34]:\d\d$/);
    const late = runApprovalLate().of(1).requests[0];
    // The stories' time began when they were loaded.
    if (late !== undefined) world.setRequest({ ...late, deadline: Date.now() + 50_000 });
    await screen.findByText(/^only 0:(4\d|50) left$/);
  });

  it('p14 says that it expired, and that nobody denied it', async () => {
    const world = runApproval();
    await open(world);
    await screen.findByRole('button', { name: 'Allow once' });
    const request = world.of(1).requests[0];
    if (request !== undefined) world.setRequest({ ...request, state: { kind: 'expired' } });
    await screen.findByText('Expired: the server stopped waiting. It was not denied by you.');
    expect(screen.queryByRole('button', { name: 'Always allow…' })).toBeNull();
  });

  it('p36 answers survive a restart of the page, also where the question comes again under another id', async () => {
    const first = await open(runQuestion());
    await first.user.click(await screen.findByLabelText('Excel 97'));
    await first.user.type(screen.getByLabelText('Something else'), 'and tabs');
    screen.getByText('It waits for as long as you need.');
    first.unmount();
    const again = runQuestion();
    const request = again.of(1).requests[0];
    if (request !== undefined) {
      request.id = 'call-again';
      request.digest = 'digest-again';
      request.questions = request.questions.map((question) => ({ ...question, id: 'call_10' }));
    }
    await open(again);
    expect((await screen.findByLabelText<HTMLInputElement>('Excel 97')).checked).toBe(true);
    expect(screen.getByLabelText<HTMLTextAreaElement>('Something else').value).toBe('and tabs');
  });
});
