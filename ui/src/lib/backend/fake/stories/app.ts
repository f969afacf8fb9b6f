/** Stories of the app around the sessions: servers, keyring, first start. */
import { sampleServer, STORY_NOW } from '../samples';
import { World } from '../world';
import { base, servers } from './base';

export function firstRun(): World {
  const world = new World();
  world.scenarios = base().scenarios;
  return world;
}

export function unreachable(): World {
  const world = base();
  world.servers = world.servers.map((server) =>
    server.id === 'srv-local'
      ? {
          ...server,
          state: {
            kind: 'unreachable',
            layer: 'connect',
            detail: 'connection refused',
            retry_at: STORY_NOW + 25_000,
          },
        }
      : server,
  );
  world.updateHeader(
    1,
    {
      connection: {
        kind: 'waiting',
        attempt: 3,
        retry_at: STORY_NOW + 25_000,
        cause: { kind: 'unreachable', layer: 'connect' },
        detail: 'connection refused',
      },
      queued: [
        { id: 'q1', text: 'Also check the admin list.', at: STORY_NOW, held: false },
        { id: 'q2', text: 'And update the docs.', at: STORY_NOW, held: true },
      ],
    },
    { state: { kind: 'running' }, waiting: 0, waiting_kind: null, last_event_at: STORY_NOW - 45_000 },
  );
  return world;
}

export function keyring(kind: 'missing' | 'locked'): World {
  const world = new World();
  world.facts.keyring = {
    kind,
    detail: kind === 'missing' ? 'org.freedesktop.secrets: name not provided' : 'prompt dismissed',
  };
  return world;
}

export function practising(): World {
  const world = base();
  world.servers = [
    sampleServer({ id: 'practice', name: 'Practice server', practice: true, token: 'none' }),
    ...servers,
  ];
  world.facts.preferences.practice_on = true;
  return world;
}

export function noEnvironment(): World {
  const world = new World();
  world.options = {
    agents: [{ id: 'agent_1', name: 'dev', description: null, model: null, tools: [] }],
    environments: [],
  };
  return world;
}
