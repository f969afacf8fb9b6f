/** Every browser test. An argument runs only the tests whose names contain it. */
import { launch, serve, Suite } from './harness.mjs';
import { cardTests } from './card.mjs';
import { connectionTests } from './connection.mjs';
import { runTests } from './runs.mjs';
import { safetyTests } from './safety.mjs';
import { screenTests } from './screens.mjs';
import { transcriptTests } from './transcript.mjs';
import { turnTests } from './turns.mjs';

const server = await serve();
const browser = await launch();
const suite = new Suite(browser, server.origin);
try {
  for (const tests of [
    cardTests,
    connectionTests,
    runTests,
    turnTests,
    transcriptTests,
    safetyTests,
    screenTests,
  ])
    await tests(suite);
} finally {
  await browser.close();
  server.close();
}
console.log(`${suite.passed} passed, ${suite.failed} failed, 0 skipped`);
process.exitCode = suite.failed === 0 && suite.passed > 0 ? 0 : 1;
