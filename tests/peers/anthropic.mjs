// The official Claude client against the practice server's Claude dialect.
//
// Arguments: base URL (the server's origin, without /v1), token, and optionally the folder whose node_modules holds the
// client (the current folder otherwise). Ends with 0 only if everything matched. Needs: @anthropic-ai/sdk 1.14.0.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const [origin, token, folder = process.cwd()] = process.argv.slice(2);
const load = createRequire(join(folder, 'here.js'));
const { default: Anthropic } = load('@anthropic-ai/sdk');
const { accumulateManagedAgentsEvent: fold } = load('@anthropic-ai/sdk/lib/sessions/accumulate');

const check = (condition, what) => {
  if (!condition) {
    console.error(`anthropic: ${what}`);
    process.exit(1);
  }
  console.log(`ok: ${what}`);
};
const same = (left, right) => JSON.stringify(left) === JSON.stringify(right);
// The docs write the base with /v1, the client adds it by itself.
const baseURL = origin.replace(/\/v1\/?$/, '');
const connect = (apiKey) => new Anthropic({ apiKey, authToken: null, baseURL, maxRetries: 0, timeout: 20_000 });
const client = connect(token);
const { sessions } = client.beta;

const message = (text) => ({ type: 'user.message', content: [{ type: 'text', text }] });
const create = (metadata = {}) =>
  sessions.create({
    agent: 'agent_practice',
    environment_id: 'env_practice',
    title: 'Peer',
    metadata: { 'practice.pace': 'fast', ...metadata },
  });

/** Events up to and with the first that is wanted. */
async function until(stream, wanted) {
  const seen = [];
  for (;;) {
    const { value, done } = await stream.next();
    if (done) {
      console.error(`anthropic: the stream ended early, after ${seen.map((event) => event.type).join(', ')}`);
      process.exit(1);
    }
    seen.push(value);
    if (wanted(value)) return seen;
  }
}
const idle = (reason) => (event) => event.type === 'session.status_idle' && event.stop_reason.type === reason;
const open = async (id, params = {}) => {
  const stream = await sessions.events.stream(id, params);
  const events = stream[Symbol.asyncIterator]();
  return { next: () => events.next(), close: () => stream.controller.abort() };
};
const refused = async (promise, status, what) => {
  try {
    await promise;
  } catch (error) {
    check(error.status === status && error.requestID, what);
    return;
  }
  check(false, what);
};

async function previews() {
  const session = await create();
  check(session.id.startsWith('sesn_') && session.status === 'idle', 'a session is created and idle');
  check(session.agent.model.id === 'practice-1' && session.usage.list_cost.currency === 'USD', 'its object is complete');
  const stream = await open(session.id, { event_deltas: ['agent.message', 'agent.thinking'] });
  const sent = await sessions.events.send(session.id, { events: [message('THINK\nEDIT\nPLAY:plain')] });
  check(sent.data[0].type === 'user.message', 'a message is accepted');
  const events = await until(stream, idle('end_turn'));
  stream.close();
  let draft;
  const messages = [];
  for (const event of events) {
    const before = draft;
    draft = fold(draft, event);
    if (event.type === 'agent.message') messages.push([before, draft]);
  }
  check(messages.length > 0, 'messages came');
  check(
    messages.every(([before, after]) => before.id === after.id && same(before.content, after.content)),
    "the client's own fold of the previews gives each message",
  );
  const buffered = events.filter((event) => !event.type.startsWith('event_'));
  check(
    buffered.every((event) => !('turn_id' in event) && !('session_id' in event) && event.id.startsWith('sevt_')),
    'events carry the common fields of this dialect only',
  );
  const use = buffered.find((event) => event.type === 'agent.tool_use');
  check(use.name === 'edit' && use.evaluated_permission === 'allow' && use.evaluation.type === 'always_allow', 'tools are spelt small');
  const listed = [];
  for await (const event of sessions.events.list(session.id, { limit: 1000 })) listed.push(event.id);
  check(same(listed, buffered.map((event) => event.id)), 'one large page lists what was streamed');
  const paged = [];
  for await (const event of sessions.events.list(session.id, { limit: 2 })) paged.push(event.id);
  check(same(paged, listed), 'pages of two list the same');
  const uses = await sessions.events.list(session.id, { types: ['agent.tool_use'] });
  check(uses.data.length === 1, 'types filter the list');
}

async function confirmation() {
  const session = await create();
  const stream = await open(session.id);
  await sessions.events.send(session.id, { events: [message('RUN:ls\nRUN:rm -rf build')] });
  const asked = await until(stream, idle('requires_action'));
  const ids = asked.at(-1).stop_reason.event_ids;
  check(asked.at(-1).stop_details === null && ids.length === 2, 'two calls wait');
  await refused(
    sessions.events.send(session.id, {
      events: [{ type: 'user.tool_confirmation', tool_use_id: ids[0], result: 'allow', deny_message: 'no' }],
    }),
    400,
    'a deny message with allow is refused',
  );
  await sessions.events.send(session.id, {
    events: [
      { type: 'user.tool_confirmation', tool_use_id: ids[0], result: 'allow' },
      { type: 'user.tool_confirmation', tool_use_id: ids[1], result: 'deny', deny_message: 'not in prod' },
    ],
  });
  const rest = await until(stream, idle('end_turn'));
  stream.close();
  const results = rest.filter((event) => event.type === 'agent.tool_result');
  check(same(results.map((event) => [event.tool_use_id, event.is_error]), [[ids[0], false], [ids[1], true]]), 'each call has its result');
}

async function customTool() {
  const session = await create();
  const stream = await open(session.id);
  await sessions.events.send(session.id, { events: [message('ASK:tool')] });
  const asked = await until(stream, (event) => event.type === 'agent.custom_tool_use');
  const use = asked.at(-1);
  check(use.name === 'lookup_order', "the client's tool is asked for");
  await sessions.events.send(session.id, {
    events: [
      { type: 'user.custom_tool_result', custom_tool_use_id: use.id, content: [{ type: 'text', text: 'shipped' }] },
    ],
  });
  const rest = await until(stream, idle('end_turn'));
  stream.close();
  check(JSON.stringify(rest).includes('The tool answered: shipped'), 'the agent goes on with the result');
}

async function queueAndInterrupt() {
  const session = await create({ 'practice.pace': 'real' });
  const stream = await open(session.id, { event_deltas: ['agent.message'] });
  await sessions.events.send(session.id, { events: [message('SLOW')] });
  await until(stream, (event) => event.type === 'event_delta');
  const queued = await sessions.events.send(session.id, { events: [message('and then?')] });
  check(queued.data[0].processed_at === null, 'a message while running is queued');
  await sessions.events.send(session.id, { events: [{ type: 'user.interrupt' }] });
  const stopped = await until(stream, idle('end_turn'));
  check(!stopped.some((event) => event.type === 'agent.message'), 'a stopped preview gets no message');
  const after = await until(stream, idle('end_turn'));
  stream.close();
  const again = after.find((event) => event.id === queued.data[0].id);
  check(again && again.processed_at !== null, 'the queued message comes again, with its time');
  check(JSON.stringify(after).includes('You said: and then?'), 'and is answered');
}

async function housekeeping() {
  const session = await create();
  check((await sessions.update(session.id, { title: 'Renamed' })).title === 'Renamed', 'a session is renamed');
  const first = await sessions.list({ limit: 1 });
  check(first.data.length === 1 && first.next_page !== null, 'sessions are listed in pages');
  check((await sessions.archive(session.id)).archived_at !== null, 'a session is archived');
  check((await sessions.delete(session.id)).type === 'session_deleted', 'a session is deleted');
  await refused(sessions.retrieve(session.id), 404, 'a deleted session is gone');
  await refused(connect('wrong').beta.sessions.list(), 401, 'a wrong token is refused');
  const agents = [];
  for await (const agent of client.beta.agents.list()) agents.push(agent.name);
  check(agents.includes('Practice agent') && !agents.includes('Retired agent'), 'archived agents are not offered');
  const environments = [];
  for await (const environment of client.beta.environments.list()) environments.push(environment.name);
  check(environments.includes('Practice'), 'there is an environment');
}

await previews();
await confirmation();
await customTool();
await queueAndInterrupt();
await housekeeping();
console.log('anthropic: all matched');
process.exit(0);
