/** What the rehearsal backend plays, by the name in the address: one world per story. */
import { firstRun, keyring, noEnvironment, practising, unreachable } from './stories/app';
import { base } from './stories/base';
import { approval, clientTool, longCommand, plainApproval, question } from './stories/requests';
import {
  runApproval,
  runApprovalLate,
  runEverything,
  runForeign,
  runListed,
  runLive,
  runNotAsked,
  runQuestion,
  runResumable,
  runs,
  runSteered,
  runUnasked,
} from './stories/runs';
import { chinese, doubtfulLinks, everything, long, streaming } from './stories/transcripts';
import type { World } from './world';

export const stories: Record<string, () => World> = {
  'first-run': firstRun,
  approval,
  'plain-approval': plainApproval,
  'long-command': longCommand,
  streaming,
  long,
  chinese,
  unreachable,
  'keyring-missing': () => keyring('missing'),
  'keyring-locked': () => keyring('locked'),
  question,
  'client-tool': clientTool,
  everything,
  'doubtful-links': doubtfulLinks,
  practising,
  'no-environment': noEnvironment,
  quiet: base,
  runs: () => runs(),
  'run-approval': runApproval,
  'run-approval-late': runApprovalLate,
  'run-everything': runEverything,
  'run-foreign': runForeign,
  'run-listed': runListed,
  'run-live': runLive,
  'run-not-asked': runNotAsked,
  'run-question': runQuestion,
  'run-resumable': runResumable,
  'run-steered': runSteered,
  'run-unasked': runUnasked,
};
