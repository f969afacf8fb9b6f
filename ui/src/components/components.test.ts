import { render, screen, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import App from '../App.svelte';
import { inTime } from './chunks';
import { sampleHeader, sampleRequest, sampleRow, sampleServer, userSaid } from '$lib/backend/fake/samples';
import { World } from '$lib/backend/fake/world';

// What the first screen does without is here before anything is timed.
await inTime();

function worldWith(change: (world: World) => void = () => undefined): World {
  const world = new World();
  world.facts.preferences.language = 'en';
  world.servers = [sampleServer()];
  world.addSession(sampleHeader(sampleRow()), [userSaid('u', 'hello')]);
  change(world);
  return world;
}

async function open(world: World) {
  render(App, { backend: world });
  const user = userEvent.setup();
  const link = await screen.findByTitle('Add pagination to users API');
  await user.click(link);
  await screen.findByRole('heading', { level: 1, name: 'Add pagination to users API' });
  return user;
}

const calls = (world: World, name: string) =>
  world.calls.filter((call) => call.name === name).map((call) => call.args);

describe('first run', () => {
  it('tells the shell once when the first screen is drawn', async () => {
    const world = new World();
    render(App, { backend: world });
    await screen.findByRole('heading', { name: 'Watch your agents. Decide what they may do.' });
    await vi.waitFor(() => expect(calls(world, 'page_ready')).toHaveLength(1));
  });

  it('p25 names the layer that failed, and saves nothing', async () => {
    const world = new World();
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.type(await screen.findByLabelText('Server address'), 'https://nowhere.example');
    await user.click(screen.getByRole('button', { name: 'Connect' }));
    await screen.findByText(/the host was not found/);
    expect(calls(world, 'add_server')).toEqual([]);
  });

  it('p44 keeps a token for the session only when the person says so', async () => {
    const world = new World();
    world.facts.keyring = { kind: 'missing', detail: 'no service' };
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.type(await screen.findByLabelText('Server address'), 'http://127.0.0.1:1');
    await user.type(screen.getByLabelText('Token'), 'secret');
    await user.click(screen.getByRole('button', { name: 'Connect' }));
    await user.click(await screen.findByRole('button', { name: 'Keep for this session only' }));
    await vi.waitFor(() => expect(calls(world, 'add_server')).toHaveLength(2));
    expect(
      calls(world, 'add_server').map((args) => (args as { session_only: boolean }).session_only),
    ).toEqual([false, true]);
  });

  it('s11 asks before it uses plain http to another computer', async () => {
    const world = new World();
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.type(await screen.findByLabelText('Server address'), 'http://agents.example.com');
    await user.click(screen.getByRole('button', { name: 'Connect' }));
    const dialog = await screen.findByRole('alertdialog');
    expect(calls(world, 'add_server')).toEqual([]);
    await user.click(within(dialog).getByRole('button', { name: 'Use it anyway' }));
    await vi.waitFor(() => expect(calls(world, 'add_server')).toHaveLength(1));
    expect(calls(world, 'add_server')[0]).toMatchObject({ options: { insecure_accepted: true } });
  });
});

describe('session', () => {
  it('sends with Enter, and breaks the line with Shift', async () => {
    const world = worldWith();
    const user = await open(world);
    await user.type(screen.getByLabelText('Message'), 'one{Shift>}{Enter}{/Shift}two{Enter}');
    expect(calls(world, 'send_message')).toEqual([{ session: 1, text: 'one\ntwo', images: [] }]);
  });

  it('gives back what was not taken', async () => {
    const world = worldWith((it) =>
      it.failing.set('send_message', { code: 'busy', message: 'x', retryable: true, detail: null }),
    );
    const user = await open(world);
    await user.type(screen.getByLabelText('Message'), 'keep me{Enter}');
    await screen.findByText('A turn is running: the message was not taken.');
    expect(screen.getByLabelText<HTMLTextAreaElement>('Message').value).toBe('keep me');
  });

  it('draws no button for what a server cannot do', async () => {
    const world = worldWith((it) => {
      it.servers = [
        sampleServer({
          capabilities: {
            ...sampleServer().capabilities,
            stop: false,
            rename: false,
            archive: false,
            delete: false,
            outcomes: false,
          },
        }),
      ];
      it.of(1).header.row.state = { kind: 'running' };
    });
    await open(world);
    expect(screen.queryByRole('button', { name: 'Stop' })).toBeNull();
    expect(screen.queryByRole('button', { name: 'More' })).toBeNull();
  });

  it('p23 shows a stop as requested until the server confirms it', async () => {
    const world = worldWith((it) => (it.of(1).header.row.state = { kind: 'running' }));
    const user = await open(world);
    await user.click(screen.getByRole('button', { name: 'Stop' }));
    await screen.findByText('Stop requested…');
    world.updateHeader(1, { stop: { kind: 'confirmed', at: 1 } }, { state: { kind: 'idle' } });
    await screen.findByText('Stopped, confirmed by the server');
  });

  it('says why nothing can be sent', async () => {
    await open(worldWith((it) => (it.of(1).header.closed = 'archived')));
    expect(screen.queryByLabelText('Message')).toBeNull();
    screen.getByText('Archived: it can be read, and takes nothing more.');
  });

  it('p08 a click on a card that has just appeared decides nothing', async () => {
    const world = worldWith((it) => it.of(1).requests.push(sampleRequest()));
    const user = await open(world);
    await user.click(await screen.findByRole('button', { name: 'Allow once' }));
    expect(calls(world, 'decide')).toEqual([]);
    await screen.findByText(/Not taken: the card had just appeared/);
  });

  it('p14 says expired, never denied by you', async () => {
    const world = worldWith((it) => it.of(1).requests.push(sampleRequest()));
    await open(world);
    await screen.findByRole('button', { name: 'Allow once' });
    world.setRequest(sampleRequest({ state: { kind: 'expired' } }));
    await screen.findByText('Expired: the server stopped waiting. It was not denied by you.');
    expect(screen.queryByRole('button', { name: 'Allow once' })).toBeNull();
  });

  it('p18 a fallback card says where to answer', async () => {
    await open(
      worldWith((it) =>
        it.of(1).requests.push(sampleRequest({ kind: 'fallback', choices: [], command: null })),
      ),
    );
    await screen.findByRole('heading', { name: 'The server waits for you' });
    screen.getByText(/this app cannot answer it/);
  });
});

describe('servers', () => {
  it('are put in order with buttons', async () => {
    const world = worldWith(
      (it) => (it.servers = [sampleServer(), sampleServer({ id: 'b', name: 'Second' })]),
    );
    render(App, { backend: world });
    const user = userEvent.setup();
    await user.click(await screen.findByRole('button', { name: 'Servers' }));
    await user.click(screen.getByRole('button', { name: 'Move Second up' }));
    expect(calls(world, 'reorder_servers')).toEqual([{ order: ['b', 'srv-local'] }]);
  });
});

describe('closing', () => {
  it('asks what to do with live sessions', async () => {
    const world = worldWith();
    render(App, { backend: world });
    await screen.findByRole('button', { name: 'History' });
    world.closeAsked(2, false);
    const dialog = await screen.findByRole('alertdialog');
    within(dialog).getByText(/Quitting stops every run/);
    await userEvent.setup().click(within(dialog).getByRole('button', { name: 'Hide the window' }));
    expect(calls(world, 'close_window')).toEqual([{ action: 'hide' }]);
  });
});
