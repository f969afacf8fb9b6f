// How fast the official Claude client reads a stream: prints the number of events and the seconds.
//
// Arguments: base URL without /v1, session id, the folder whose node_modules holds the client.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const [baseURL, session, folder] = process.argv.slice(2);
const { default: Anthropic } = createRequire(join(folder, 'here.js'))('@anthropic-ai/sdk');
const client = new Anthropic({ apiKey: 'bench', authToken: null, baseURL, maxRetries: 0 });

let count = 0;
const start = performance.now();
for await (const event of await client.beta.sessions.events.stream(session)) {
  count += 1;
  if (event.type === 'session.status_terminated') break;
}
console.log(count, (performance.now() - start) / 1000);
