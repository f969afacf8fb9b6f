/** What the world answers about servers: adding, changing, pausing, and what can be made there. */
import type { Server, ServerDraft } from '$lib/contract';
import { probe } from '../probe';
import { sampleServer } from '../samples';
import { refusal, type Handlers, type World } from '../world';

function putServer(world: World, id: string, change: Partial<Server>): Server {
  const at = world.servers.findIndex((server) => server.id === id);
  const old = world.servers[at];
  if (old === undefined) throw refusal('not_found');
  const server = { ...old, ...change };
  world.servers = world.servers.with(at, server);
  world.overview({ kind: 'servers', servers: world.servers });
  return server;
}

/** Refuses what would stop a run that cannot be left, until the person has agreed. */
function checkRuns(world: World, server: string, agreed: boolean | undefined): void {
  const holds = world.servers.find((other) => other.id === server)?.capabilities.reattach === false;
  const live = [...world.sessions.values()].some(
    ({ header: { row } }) =>
      row.server === server && row.live && ['running', 'waiting'].includes(row.state.kind),
  );
  if (holds && live && agreed !== true) throw refusal('stops_runs');
}

function checkToken(world: World, draft: Pick<ServerDraft, 'token' | 'session_only'>): void {
  const keyring = world.facts.keyring;
  if (draft.token === '' || draft.session_only) return;
  if (keyring.kind === 'missing') throw refusal('keyring_missing', keyring.detail);
  if (keyring.kind === 'locked') throw refusal('keyring_locked', keyring.detail);
}

export const serverAnswers = (world: World) =>
  ({
    probe_server: (draft) => probe(draft),
    add_server: (draft) => {
      checkToken(world, draft);
      const server = sampleServer({
        id: `srv-${world.servers.length + 1}`,
        name: draft.name === '' ? new URL(draft.base_url).host : draft.name,
        base_url: draft.base_url,
        options: draft.options,
        token: draft.token === '' ? 'none' : draft.session_only ? 'session_only' : 'keyring',
        warnings: draft.session_only ? ['token_not_stored'] : draft.token === '' ? ['unauthenticated'] : [],
      });
      world.servers = [...world.servers, server];
      world.overview({ kind: 'servers', servers: world.servers });
      return server;
    },
    edit_server: ({ server, name, base_url, options, stop_runs }) => {
      checkRuns(world, server, stop_runs);
      if (base_url.startsWith('http://') && !base_url.includes('127.0.0.1') && !options.insecure_accepted)
        throw refusal('insecure_url');
      return putServer(world, server, { name, base_url, options });
    },
    replace_token: ({ server, token, session_only, stop_runs }) => {
      if (token === '') checkRuns(world, server, stop_runs);
      checkToken(world, { token, session_only });
      return putServer(world, server, {
        token: token === '' ? 'none' : session_only ? 'session_only' : 'keyring',
        state: { kind: 'online' },
      });
    },
    pause_server: ({ server, paused, stop_runs }) => {
      if (paused) checkRuns(world, server, stop_runs);
      return putServer(world, server, { paused, state: paused ? { kind: 'paused' } : { kind: 'online' } });
    },
    reorder_servers: ({ order }) => {
      world.servers = order.flatMap((id) => world.servers.filter((server) => server.id === id));
      world.overview({ kind: 'servers', servers: world.servers });
      return null;
    },
    remove_server: ({ server, stop_runs }) => {
      checkRuns(world, server, stop_runs);
      world.servers = world.servers.filter((other) => other.id !== server);
      world.overview({ kind: 'servers', servers: world.servers });
      return null;
    },
    refresh_server: () => null,
    set_practice: ({ on, stop_runs }) => {
      if (!on) checkRuns(world, 'practice', stop_runs);
      const rest = world.servers.filter((server) => !server.practice);
      const practice = sampleServer({
        id: 'practice',
        name: 'Practice server',
        practice: true,
        token: 'none',
        base_url: 'http://127.0.0.1:0',
        state: on ? { kind: 'online' } : { kind: 'off' },
      });
      world.servers = [practice, ...rest];
      world.facts = { ...world.facts, preferences: { ...world.facts.preferences, practice_on: on } };
      world.emit([
        { topic: 'overview', change: { kind: 'servers', servers: world.servers } },
        { topic: 'overview', change: { kind: 'facts', facts: world.facts } },
      ]);
      return null;
    },
    change_server_setting: ({ server, setting }) => {
      const old = world.servers.find((other) => other.id === server);
      if (old === undefined) throw refusal('not_found');
      const facts = { ...old.facts, [setting.kind]: setting.to };
      const rest = old.warnings.filter(
        (warning) => warning !== 'commands_not_asked' && warning !== 'commands_refused',
      );
      const asks = facts.permission === facts.asking_permission;
      putServer(world, server, { facts, warnings: asks ? rest : old.warnings });
      return null;
    },
    list_scenarios: () => world.scenarios,
    new_session_options: () => world.options,
    create_environment: ({ name }) => {
      world.options = { ...world.options, environments: [{ id: 'env-new', name, description: null }] };
      return world.options;
    },
  }) satisfies Partial<Handlers>;
