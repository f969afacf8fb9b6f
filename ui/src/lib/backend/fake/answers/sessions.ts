/** What the world answers about sessions: making, opening, reading, naming, closing. */
import type { SessionId } from '$lib/contract';
import { sampleHeader, sampleRow, userSaid } from '../samples';
import type { Handlers, World } from '../world';

/** Items in a snapshot, as the engine sends them. */
const PAGE = 200;

function createSession(
  world: World,
  server: string,
  title: string | null,
  message: string,
): { session: SessionId } {
  const id = Math.max(0, ...world.sessions.keys()) + 1;
  const row = sampleRow({ id, server, title, state: { kind: message === '' ? 'idle' : 'running' } });
  world.addSession(sampleHeader(row), message === '' ? [] : [userSaid(`said-${id}`, message)]);
  world.overview({ kind: 'session', row });
  return { session: id };
}

export const sessionAnswers = (world: World) =>
  ({
    create_session: ({ server, title, message }) => createSession(world, server, title, message),
    start_scenario: ({ scenario }) =>
      createSession(
        world,
        'practice',
        world.scenarios.find((row) => row.id === scenario)?.title ?? scenario,
        'Go on.',
      ),
    open_session: ({ session }) => {
      const open = world.of(session);
      return {
        session,
        revision: open.revision,
        header: open.header,
        items: open.items.slice(-PAGE),
        has_older: open.items.length > PAGE,
        total_items: open.items.length,
        requests: open.requests,
        connection_log: open.log,
        decisions: open.decisions,
      };
    },
    close_session: () => null,
    read_items: ({ session, before, limit }) => {
      const items = world.of(session).items;
      const end = items.findIndex((item) => item.id === before);
      const start = Math.max(0, end - limit);
      return { items: items.slice(start, end), has_older: start > 0 };
    },
    read_payload: ({ handle, from, limit }) => {
      const whole = [...(world.payloads.get(handle) ?? '')];
      return { text: whole.slice(from, from + limit).join(''), from, chars: whole.length, read_at: 0 };
    },
    rename_session: ({ session, title }) => {
      world.updateHeader(session, {}, { title });
      return null;
    },
    name_session: ({ session }) => {
      world.updateHeader(session, {}, { title: 'Named by its server' });
      return null;
    },
    archive_session: ({ session }) => {
      world.updateHeader(session, { closed: 'archived' }, { archived: true });
      return null;
    },
    delete_session: ({ session }) => {
      world.updateHeader(session, { closed: 'deleted' }, { state: { kind: 'ended' } });
      return null;
    },
    fork_session: ({ session }) => {
      const { server, title } = world.of(session).header.row;
      return createSession(world, server, title, '');
    },
    export_session: ({ session }) => ({ path: `/home/you/Downloads/session-${session}.html`, bytes: 12_345 }),
  }) satisfies Partial<Handlers>;
