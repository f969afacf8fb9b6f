import { describe, expect, it, vi } from 'vitest';
import { agentSaid, sampleHeader, sampleRow, sampleServer } from '$lib/backend/fake/samples';
import { World } from '$lib/backend/fake/world';
import { AppState } from './app.svelte';

/** So many items, oldest first. */
const said = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({ ...agentSaid(`i${from + at}`, 'x'), order: from + at }));

async function started(count: number): Promise<{ world: World; app: AppState }> {
  const world = new World();
  world.servers = [sampleServer()];
  world.addSession(sampleHeader(sampleRow()), said(0, count));
  const app = new AppState(world);
  await app.start();
  app.openSession(1);
  await vi.waitFor(() => expect(app.session?.header).not.toBeNull());
  return { world, app };
}

const ids = (app: AppState) => app.session?.items.map((cell) => cell.id) ?? [];

/** A burst came, and everything must be read again. */
async function burst(world: World, app: AppState, from: number, count: number): Promise<void> {
  const before = app.session?.generation ?? 0;
  world.of(1).items.push(...said(from, count));
  world.change(1, { kind: 'reset' });
  await vi.waitFor(() => expect(app.session?.generation).toBe(before + 1));
}

describe('a reset after a burst', () => {
  it('keeps the older pages a reader had loaded, and the cells that show them', async () => {
    const { world, app } = await started(1_000);
    await app.session?.readOlder();
    await app.session?.readOlder();
    const reader = app.session?.items[0];
    const held = ids(app).length;
    expect(held).toBeLessThan(1_000);
    await burst(world, app, 1_000, 700);
    expect(ids(app)).toContain(reader?.id);
    expect(app.session?.items.find((cell) => cell.id === reader?.id)).toBe(reader);
    expect(ids(app).at(-1)).toBe('i1699');
    expect(new Set(ids(app)).size).toBe(ids(app).length);
    expect(ids(app)).toEqual(said(1_700 - ids(app).length, ids(app).length).map((item) => item.id));
    expect(app.session?.hasOlder).toBe(ids(app).length < 1_700);
  });

  it('reads no further back than the reader was', async () => {
    const { world, app } = await started(5_000);
    await burst(world, app, 5_000, 10);
    expect(ids(app).length).toBeLessThan(1_000);
    expect(app.session?.hasOlder).toBe(true);
  });

  it('gives the place up where far too much came in between, and shows the newest', async () => {
    const { world, app } = await started(500);
    await burst(world, app, 500, 20_000);
    expect(ids(app).length).toBeLessThan(1_000);
    expect(ids(app).at(-1)).toBe('i20499');
  });

  it('reads again what it can where the oldest item is gone', async () => {
    const { world, app } = await started(400);
    const oldest = ids(app)[0];
    world.of(1).items = world.of(1).items.filter((item) => item.id !== oldest);
    await burst(world, app, 400, 700);
    expect(ids(app)).toHaveLength(1_099);
    expect(app.session?.hasOlder).toBe(false);
  });
});
