/** What the world answers about the app as a whole: what there is, the record, and what the shell does. */
import type { HistoryHit, Item } from '$lib/contract';
import type { Handlers, World } from '../world';

function textOf(item: Item): string {
  const body = item.body;
  if (body.kind === 'message')
    return body.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n');
  if (body.kind === 'tool') return body.command ?? body.input.text;
  return '';
}

function search(world: World, text: string, server: string | null): HistoryHit[] {
  const wanted = text.toLowerCase();
  return [...world.sessions.values()].flatMap(({ header, items }) => {
    if (server !== null && header.row.server !== server) return [];
    const base = {
      row: header.row,
      server_name: world.servers.find((other) => other.id === header.row.server)?.name ?? '',
      last_active_at: header.row.last_event_at,
    };
    if (wanted === '') return [{ ...base, places: [] }];
    const found = [
      { id: null, value: header.row.title ?? '' },
      ...items.map((item) => ({ id: item.id, value: textOf(item) })),
    ];
    const places = found.flatMap(({ id, value }) => {
      const at = value.toLowerCase().indexOf(wanted);
      const around = 40;
      return at < 0
        ? []
        : [
            {
              item: id,
              before: value.slice(Math.max(0, at - around), at),
              matched: value.slice(at, at + wanted.length),
              after: value.slice(at + wanted.length, at + wanted.length + around),
            },
          ];
    });
    return places.length === 0 ? [] : [{ ...base, places: places.slice(0, 3) }];
  });
}

export const appAnswers = (world: World) =>
  ({
    overview: () => ({
      servers: world.servers,
      sessions: [...world.sessions.values()].map((session) => session.header.row),
      facts: world.facts,
      batch: world.lastNumber,
    }),
    set_preferences: (preferences) => {
      world.facts = { ...world.facts, preferences };
      world.overview({ kind: 'facts', facts: world.facts });
      return null;
    },
    waiting_requests: () =>
      [...world.sessions.values()].flatMap((session) =>
        session.requests.filter((request) => request.state.kind === 'open'),
      ),
    search_history: ({ text, server, offset, limit }) => {
      const hits = search(world, text, server);
      return {
        hits: hits.slice(offset, offset + limit),
        more: hits.length > offset + limit,
        index_behind: 0,
      };
    },
    connection_log: ({ session, limit }) => world.of(session).log.slice(-limit),
    decisions: ({ session, limit }) => world.of(session).decisions.slice(-limit),
    open_link: () => null,
    copy_text: () => null,
    report_page_error: () => null,
    page_ready: () => null,
    close_window: () => null,
  }) satisfies Partial<Handlers>;
