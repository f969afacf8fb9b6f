/** What the world answers to whoever talks with a session: messages, options, stops, decisions. */
import { userSaid } from '../samples';
import { decided, declined, told, without } from '../turns';
import { refusal, type Handlers, type World } from '../world';

export const talkAnswers = (world: World) =>
  ({
    send_message: ({ session, text }) => {
      const open = world.of(session);
      const busy =
        ['running', 'waiting'].includes(open.header.row.state.kind) ||
        open.header.connection.kind === 'waiting';
      const id = `mine-${world.calls.length}`;
      const server = world.servers.find((other) => other.id === open.header.row.server);
      if (busy && server?.capabilities.while_running === 'steer') {
        const said = { ...userSaid(id, text), order: open.items.length + 100_000 };
        if (said.body.kind === 'message') said.body.state = { kind: 'queued' };
        world.change(session, { kind: 'item', item: said });
      } else if (busy)
        world.updateHeader(session, {
          queued: [...open.header.queued, { id, text, at: Date.now(), held: false }],
        });
      else
        world.change(session, {
          kind: 'item',
          item: { ...userSaid(id, text), order: open.items.length + 100_000 },
        });
      return null;
    },
    queued_message: ({ session, id, action }) => {
      const open = world.of(session);
      if (action === 'decline_and_send')
        for (const request of declined(open.requests)) world.setRequest(request);
      world.updateHeader(session, { queued: without(open.header.queued, id) });
      return null;
    },
    stop_session: ({ session }) => {
      world.updateHeader(
        session,
        { stop: { kind: 'requested', at: Date.now() } },
        { state: { kind: 'stopping' } },
      );
      return null;
    },
    retry_now: ({ session }) => {
      world.updateHeader(session, { connection: { kind: 'live', since: Date.now() } });
      return null;
    },
    set_run_options: ({ session, options }) => {
      // A mode that asks nobody lapses after an hour, as the engine has it.
      const unasked = options.approvals.mode === 'auto' || options.approvals.mode === 'commands';
      const run_options = unasked ? { ...options, unasked_until: Date.now() + 3_600_000 } : options;
      world.updateHeader(session, { run_options });
      return null;
    },
    set_session_setup: ({ session, ...change }) => {
      world.updateHeader(session, { setup: told(change) });
      return null;
    },
    resume_run: ({ session }) => {
      world.updateHeader(session, { resumable: null }, { state: { kind: 'running' } });
      return null;
    },
    compact_session: ({ session }) => {
      const before = world.of(session).header.context;
      const after = before === null ? null : { ...before, used: Math.round(before.used / 4) };
      world.updateHeader(session, { context: after });
      return { applied: true, summary: null, compressed: 40, kept: 6, before, after };
    },
    ask_aside: ({ question }) => ({ answer: `About “${question}”: nothing special.` }),
    session_context: ({ session }) => world.of(session).header.context,
    complete_mention: ({ query }) =>
      world.mentions.filter((mention) => mention.token.toLowerCase().includes(query.toLowerCase())),
    define_outcome: ({ session, description, rubric }) => {
      const goal = {
        id: '',
        description,
        rubric,
        iteration: null,
        verdict: null,
        explanation: null,
        evaluating: false,
      };
      world.updateHeader(session, { goals: [...world.of(session).header.goals, goal] });
      return null;
    },
    decide: (decision) => {
      const request = world.of(decision.session).requests.find((other) => other.id === decision.request);
      if (request === undefined) throw refusal('not_found');
      if (request.digest !== decision.digest) throw refusal('request_changed');
      if (request.state.kind !== 'open' && request.state.kind !== 'refused') throw refusal('request_settled');
      const all = decided(world.of(decision.session).requests, request, decision);
      for (const one of all) world.setRequest(one);
      return all.find((one) => one.id === request.id) ?? request;
    },
  }) satisfies Partial<Handlers>;
