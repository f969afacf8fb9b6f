import { describe, expect, it, vi } from 'vitest';
import type { Batch, Overview } from '$lib/contract';
import {
  agentSaid,
  item,
  sampleHeader,
  sampleRequest,
  sampleRow,
  sampleServer,
  text,
  userSaid,
} from '$lib/backend/fake/samples';
import { World } from '$lib/backend/fake/world';
import { Announcer } from './announce.svelte';
import { AppState } from './app.svelte';
import { applyOverview, groupSessions, placeOf, withRequest } from './apply';
import { ItemCell } from './cell.svelte';
import { continuation, judge } from './sequence';

describe('sequence', () => {
  it('applies the next number, drops seen ones, and calls anything further a hole', () => {
    expect([judge(4, 5), judge(4, 4), judge(4, 3), judge(4, 6)]).toEqual(['apply', 'stale', 'stale', 'hole']);
  });

  it('continues a fresh reading only as far as there is no hole', () => {
    expect(continuation(3, [6, 4, 3, 5, 8], (number) => number)).toEqual([4, 5, 6]);
  });
});

describe('apply', () => {
  const overview: Overview = {
    servers: [sampleServer()],
    sessions: [sampleRow({ id: 1 }), sampleRow({ id: 2 })],
    facts: new World().facts,
    batch: 0,
  };

  it('replaces what changed and keeps the identity of what did not', () => {
    const row = sampleRow({ id: 2, title: 'renamed' });
    const next = applyOverview(overview, { kind: 'session', row });
    expect(next.sessions.map((session) => session.title)).toEqual([overview.sessions[0]?.title, 'renamed']);
    expect(next.sessions[0]).toBe(overview.sessions[0]);
    expect(next.servers).toBe(overview.servers);
  });

  it('drops a session that is gone', () => {
    expect(
      applyOverview(overview, { kind: 'session_gone', session: 1 }).sessions.map((row) => row.id),
    ).toEqual([2]);
  });

  it('puts sessions where they belong, the most recent first', () => {
    const groups = groupSessions([
      sampleRow({ id: 1, last_event_at: 5 }),
      sampleRow({ id: 2, waiting: 1, last_event_at: 1 }),
      sampleRow({ id: 3, state: { kind: 'running' } }),
      sampleRow({ id: 4, last_event_at: 9 }),
    ]);
    expect([groups.needsYou, groups.running, groups.idle].map((group) => group.map((row) => row.id))).toEqual(
      [[2], [3], [4, 1]],
    );
  });

  it('finds an item its place by order, ties by id', () => {
    const list = [
      { order: 1, id: 'a' },
      { order: 2, id: 'b' },
      { order: 2, id: 'd' },
    ];
    expect(placeOf(list, { order: 2, id: 'c' })).toBe(2);
    expect(placeOf(list, { order: 0, id: 'z' })).toBe(0);
    expect(placeOf(list, { order: 3, id: 'a' })).toBe(3);
  });

  it('keeps requests in the order in which they were asked', () => {
    const late = sampleRequest({ id: 'a', asked_at: 9 });
    const early = sampleRequest({ id: 'b', asked_at: 1 });
    expect(withRequest([late], early).map((request) => request.id)).toEqual(['b', 'a']);
  });
});

describe('ItemCell', () => {
  it('keeps a text cell through changes of its item, so that only its text changes', () => {
    const cell = new ItemCell(agentSaid('x', 'one', true));
    const before = cell.text(0);
    expect(cell.append(0, ' two')).toBe(true);
    cell.replace(agentSaid('x', 'one two three'));
    expect(cell.text(0)).toBe(before);
    expect(before?.text).toBe('one two three');
  });

  it('says when a delta fits nothing it holds', () => {
    expect(new ItemCell(agentSaid('x', 'one')).append(3, '!')).toBe(false);
  });

  it('never glues a delta to a text that is only a beginning', () => {
    const cell = new ItemCell(
      item('x', {
        kind: 'thought',
        text: { text: 'begin', chars: 100, handle: 'h' },
        active: true,
        took_ms: null,
      }),
    );
    cell.append(null, 'end');
    expect([cell.text(null)?.text, cell.text(null)?.chars]).toEqual(['begin', 103]);
  });
});

async function started(): Promise<{ world: World; app: AppState }> {
  const world = new World();
  world.servers = [sampleServer()];
  world.addSession(sampleHeader(sampleRow()), [userSaid('u', 'hello'), agentSaid('a', 'one', true)]);
  const app = new AppState(world);
  await app.start();
  app.openSession(1);
  await vi.waitFor(() => expect(app.session?.header).not.toBeNull());
  return { world, app };
}

const texts = (app: AppState) => app.session?.items.map((cell) => cell.text(0)?.text);

describe('p19 batches and revisions', () => {
  it('applies patches in order', async () => {
    const { world, app } = await started();
    world.change(1, { kind: 'append', item: 'a', part: 0, text: ' two' });
    world.overview({ kind: 'session', row: sampleRow({ title: 'renamed' }) });
    expect(texts(app)).toEqual(['hello', 'one two']);
    expect(app.overview?.sessions[0]?.title).toBe('renamed');
  });

  it('drops a batch that was seen already', async () => {
    const { world, app } = await started();
    const sent: Batch[] = [];
    const take = app.take.bind(app);
    await world.subscribe((batch) => (sent.push(batch), take(batch)));
    world.change(1, { kind: 'append', item: 'a', part: 0, text: '!' });
    for (const batch of sent) app.take(batch);
    expect(texts(app)).toEqual(['hello', 'one!']);
  });

  it('reads the overview and the session again on a hole', async () => {
    const { world, app } = await started();
    world.of(1).header.row.title = 'known only there';
    world.of(1).items.push(agentSaid('lost', 'lost on the way'));
    world.of(1).revision += 1;
    world.emit([], 2);
    await vi.waitFor(() => expect(texts(app)).toEqual(['hello', 'one', 'lost on the way']));
    expect(app.overview?.sessions[0]?.title).toBe('known only there');
  });

  it('reads only the session again when a revision is missing or everything changed', async () => {
    const { world, app } = await started();
    world.of(1).items = [agentSaid('new', 'read again')];
    world.change(1, { kind: 'reset' });
    await vi.waitFor(() => expect(texts(app)).toEqual(['read again']));
    expect(world.calls.filter((call) => call.name === 'overview')).toHaveLength(1);
    expect(world.calls.filter((call) => call.name === 'open_session')).toHaveLength(2);
  });

  it('a card does not fall back to sending when the answer of decide is slower than its patches', async () => {
    const { world, app } = await started();
    const open = sampleRequest({ id: 'r', session: 1, state: { kind: 'open' } });
    const sending = { ...open, state: { kind: 'sending', choice: 'allow_once', attempt: 1 } } as const;
    const accepted = { ...open, state: { kind: 'accepted', choice: 'allow_once', at: 1 } } as const;
    const state = () => app.session?.requests.find((request) => request.id === 'r')?.state.kind;
    world.change(1, { kind: 'request', request: open });
    app.session?.settle(sending);
    expect(state()).toBe('sending');
    world.change(1, { kind: 'request', request: accepted });
    app.session?.settle(sending);
    expect(state()).toBe('accepted');
  });

  it('keeps patches that arrive while a snapshot is on its way', async () => {
    const { world, app } = await started();
    world.of(1).items.push(agentSaid('b', 'b'));
    world.change(1, { kind: 'reset' });
    world.change(1, { kind: 'append', item: 'b', part: 0, text: '!' });
    await vi.waitFor(() => expect(texts(app)).toEqual(['hello', 'one', 'b!']));
  });

  it('a delta for an item that is not here reads the session again', async () => {
    const { world, app } = await started();
    world.of(1).items.push(agentSaid('later', 'whole'));
    world.change(1, { kind: 'append', item: 'later', part: 0, text: '' });
    await vi.waitFor(() => expect(texts(app)).toEqual(['hello', 'one', 'whole']));
  });
});

describe('AppState', () => {
  it('says why it could not start, and starts when asked again', async () => {
    const world = new World();
    world.failing.set('overview', { code: 'store_locked', message: 'x', retryable: true, detail: null });
    const app = new AppState(world);
    await app.start();
    expect(app.startError?.code).toBe('store_locked');
    world.failing.clear();
    await app.start();
    expect([app.startError, app.overview?.servers]).toEqual([null, []]);
  });

  it('keeps what was typed for each session', () => {
    const app = new AppState(new World());
    app.keepDraft(1, 'half');
    expect([app.draft(1), app.draft(2)]).toEqual(['half', '']);
  });
});

describe('p48 Announcer', () => {
  it('says at most one thing in three seconds, and the latest wins', () => {
    vi.useFakeTimers();
    const announcer = new Announcer(() => Date.now());
    announcer.say('one');
    announcer.say('two');
    announcer.say('three');
    expect(announcer.polite).toBe('one');
    vi.advanceTimersByTime(2999);
    expect(announcer.polite).toBe('one');
    vi.advanceTimersByTime(1);
    expect(announcer.polite).toBe('three');
    vi.useRealTimers();
  });
});

it('a text counts characters, not code units', () => expect(text('天🌤').chars).toBe(2));
