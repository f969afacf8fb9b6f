/** Options, mentions and images of the next run, as they are typed, pasted and sent. */
import { render, screen, within } from '@testing-library/svelte';
import userEvent from '@testing-library/user-event';
import { describe, expect, it, vi } from 'vitest';
import App from '../../App.svelte';
import { inTime } from '../chunks';
import { sampleHeader, sampleRow } from '$lib/backend/fake/samples';
import { runOptions, runs, runServer, runSteered, runUnasked } from '$lib/backend/fake/stories/runs';
import type { World } from '$lib/backend/fake/world';

// What the first screen does without is here before anything is timed.
await inTime();

const TITLE = 'Port the importer';

async function open(world: World, title = TITLE) {
  world.facts.preferences.language = 'en';
  const shown = render(App, { backend: world });
  const user = userEvent.setup();
  await user.click(await screen.findByTitle(title));
  await screen.findByRole('heading', { level: 1, name: title });
  return { user, ...shown };
}

const calls = (world: World, name: string) =>
  world.calls.filter((call) => call.name === name).map((call) => call.args);
const button = (name: string | RegExp) => screen.getByRole('button', { name });
const message = () => screen.getByLabelText<HTMLTextAreaElement>('Message');

describe('run options', () => {
  it('are set as rows of plain commands, and a row for the shell is refused with words', async () => {
    const world = runs();
    const { user } = await open(world);
    await user.click(button('Run options: Asks me'));
    const panel = await screen.findByRole('dialog', { name: 'How the next runs are asked for' });
    await user.click(within(panel).getByLabelText('Run those I list, refuse all others'));
    await user.type(await within(panel).findByLabelText('Command 1'), 'git status; rm -rf x');
    await user.click(within(panel).getByRole('button', { name: 'Use from the next run on' }));
    within(panel).getByText(/A shell reads “;” as more than a word/);
    expect(calls(world, 'set_run_options')).toEqual([]);
    await user.clear(within(panel).getByLabelText('Command 1'));
    await user.type(within(panel).getByLabelText('Command 1'), 'git status');
    await user.click(within(panel).getByRole('button', { name: 'Add a command' }));
    await user.type(within(panel).getByLabelText('Command 2'), 'ls');
    await user.click(within(panel).getByRole('button', { name: 'Remove command 1' }));
    await user.click(within(panel).getByRole('button', { name: 'Use from the next run on' }));
    expect(calls(world, 'set_run_options')).toEqual([
      { session: 1, options: { ...runOptions, approvals: { mode: 'commands', commands: ['ls'] } } },
    ]);
    await vi.waitFor(() =>
      expect(screen.getByRole('note').textContent).toContain(
        'From the next run on: 1 listed command runs without asking',
      ),
    );
  });

  it('p50 what runs unasked is said with its scope while the run goes on, whatever the next run does', async () => {
    const world = runUnasked();
    const { user } = await open(world);
    const note = screen.getByRole('note');
    expect(note.textContent).toContain(
      'This run: every command runs without asking, those of sub-agents included.',
    );
    expect(note.textContent).toContain('Only in this session, until this run ends.');
    await user.click(within(note).getByRole('button', { name: 'Ask me from the next run on' }));
    expect(calls(world, 'set_run_options')).toEqual([{ session: 1, options: runOptions }]);
    // The run that goes on is not touched by it: the mark stays, its button has nothing left to do.
    await vi.waitFor(() => expect(within(note).queryByRole('button')).toBeNull());
    expect(within(screen.getByRole('navigation')).queryByText('commands run unasked')).not.toBeNull();
    world.updateHeader(1, { running_options: null }, { state: { kind: 'idle' } });
    await vi.waitFor(() => expect(screen.queryByRole('note')).toBeNull());
  });

  it('p50 a session whose commands run unasked is marked in the sidebar while another one is open', async () => {
    const world = runUnasked();
    const other = world.addSession(sampleHeader(sampleRow({ id: 7, title: 'Quiet one' })));
    world.updateHeader(1, {
      running_options: null,
      run_options: { ...runOptions, approvals: { mode: 'commands', commands: ['ls', 'pwd'] } },
    });
    await open(world, other.header.row.title ?? '');
    const links = within(screen.getByRole('navigation'));
    const marked = links.getByRole('button', { name: /2 listed commands run without asking/ });
    expect(marked.getAttribute('title')).toBe('Port the importer');
    expect(within(marked).getByText('commands run unasked').getAttribute('title')).toContain(
      'Only in this session, for an hour or until you change it.',
    );
    expect(links.getAllByText('commands run unasked')).toHaveLength(1);
    world.updateHeader(1, { run_options: runOptions });
    await vi.waitFor(() => expect(links.queryByText('commands run unasked')).toBeNull());
  });

  it('p50 a mode that asks nobody says when it lapses', async () => {
    const until = new Date(2026, 11, 1, 18, 40).getTime();
    const world = runs({
      header: { run_options: { ...runOptions, approvals: { mode: 'auto' }, unasked_until: until } },
    });
    await open(world);
    expect(screen.getByRole('note').textContent).toContain(
      'Only in this session, for runs that begin before 18:40, or until you change it.',
    );
  });

  it('are not offered by a server that takes none', async () => {
    const world = runs();
    world.updateHeader(1, { run_options: null });
    await open(world);
    expect(screen.queryByRole('button', { name: /^Run options/ })).toBeNull();
  });
});

describe('composer', () => {
  it('completes a mention with the keys, and Enter then sends', async () => {
    const world = runs();
    const { user } = await open(world);
    await user.type(message(), 'look at @imp');
    await screen.findByRole('listbox');
    await user.keyboard('{ArrowDown}');
    expect(screen.getByRole('option', { selected: true }).textContent).toContain('src/importer_old.py');
    expect(message().getAttribute('aria-activedescendant')).toBe(
      screen.getByRole('option', { selected: true }).id,
    );
    await user.keyboard('{Enter}');
    expect(message().value).toBe('look at @src/importer_old.py ');
    expect(calls(world, 'send_message')).toEqual([]);
    await user.keyboard('now{Enter}');
    expect(calls(world, 'send_message')).toEqual([
      { session: 1, text: 'look at @src/importer_old.py now', images: [] },
    ]);
  });

  it('closes the completions with Escape, and they stay closed for that mention', async () => {
    const world = runs();
    const { user } = await open(world);
    await user.type(message(), '@imp');
    await screen.findByRole('listbox');
    await user.keyboard('{Escape}');
    expect(screen.queryByRole('listbox')).toBeNull();
    await user.keyboard('o{Enter}');
    expect(calls(world, 'send_message')).toEqual([{ session: 1, text: '@impo', images: [] }]);
  });

  it('p35 an Enter of the input method takes no completion', async () => {
    const world = runs();
    const { user } = await open(world);
    await user.type(message(), '@imp');
    await screen.findByRole('listbox');
    message().dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }),
    );
    expect(message().value).toBe('@imp');
    screen.getByRole('listbox');
  });

  const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

  it('sends pasted images with the text, and says which file is none', async () => {
    const world = runs();
    const { user } = await open(world);
    await user.click(message());
    const paste = new DataTransfer();
    paste.items.add(new File([png], 'shot.png', { type: 'image/png' }));
    paste.items.add(new File(['text'], 'notes.png', { type: 'image/png' }));
    await user.paste(paste);
    await screen.findByRole('img', { name: 'shot.png' });
    await screen.findByText('notes.png is no PNG, JPEG, GIF or WebP image.');
    await user.type(message(), 'see{Enter}');
    expect(calls(world, 'send_message')).toEqual([
      { session: 1, text: 'see', images: [{ media_type: 'image/png', data: 'iVBORw0KGgo=' }] },
    ]);
    expect(screen.queryByRole('img', { name: 'shot.png' })).toBeNull();
  });

  it('gives images back with what was not taken, and takes one out on the button', async () => {
    const world = runs();
    world.failing.set('send_message', { code: 'busy', message: 'x', retryable: true, detail: null });
    const { user, container } = await open(world);
    const picker = container.querySelector<HTMLInputElement>('input[type=file]');
    if (picker === null) throw new Error('no picker');
    await user.upload(picker, new File([png], 'shot.png', { type: 'image/png' }));
    await screen.findByRole('img', { name: 'shot.png' });
    await user.type(message(), 'see{Enter}');
    await screen.findByText('A turn is running: the message was not taken.');
    await user.click(button('Remove image shot.png'));
    expect(screen.queryByRole('img', { name: 'shot.png' })).toBeNull();
  });

  it('offers no images where the model takes none', async () => {
    const facts = { ...runServer().facts, model: 'Small' };
    const world = runs({ server: { facts } });
    const { user } = await open(world);
    expect(screen.queryByRole('button', { name: 'Add images' })).toBeNull();
    await user.click(message());
    const paste = new DataTransfer();
    paste.items.add(new File([png], 'shot.png', { type: 'image/png' }));
    await user.paste(paste);
    await screen.findByText('The model Small takes no images.');
  });

  it('says that a message goes into the run that goes on', async () => {
    await open(runSteered());
    expect(message().placeholder).toBe('Steer the run, or ask something else…');
  });

  it('p36 what was written is there again after a restart of the page', async () => {
    const first = await open(runs());
    await first.user.type(message(), 'half a sentence');
    first.unmount();
    await open(runs());
    expect(message().value).toBe('half a sentence');
  });
});
