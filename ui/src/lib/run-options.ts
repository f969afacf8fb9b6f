/** The form of a session's run options: fields as they are typed, and what is wrong with them. Pure. */
import type { ApprovalMode, QuestionMode, RunOptions, SessionHeader, UnaskedMark } from '$lib/contract';

/** Commands of a list at most. */
export const MOST_COMMANDS = 200;
const MOST_ANSWER_S = 3600;

/** What a shell reads as more than a word: a server never matches a command with one of these in it. */
const SHELL = /[;&|<>$`(){}[\]*?!~#\\"']/u;
const CONTROL = /\p{Cc}/u;

/** One row of the list, with a key of its own so that a removed row takes no other one's text with it. */
export interface CommandField {
  readonly key: number;
  text: string;
}

export interface OptionFields {
  mode: ApprovalMode['mode'];
  commands: CommandField[];
  questions: QuestionMode;
  answerTimeout: string;
  runTimeout: string;
  mentions: boolean;
}

export type RowProblem =
  { readonly kind: 'empty' | 'control' } | { readonly kind: 'shell'; readonly found: string };

export interface OptionProblems {
  /** By the row's key. */
  readonly rows: ReadonlyMap<number, RowProblem>;
  readonly list: 'none' | 'many' | null;
  readonly answer: boolean;
  readonly run: boolean;
}

export function fieldsOf(options: RunOptions): OptionFields {
  const commands = options.approvals.mode === 'commands' ? options.approvals.commands : [];
  return {
    mode: options.approvals.mode,
    commands: commands.map((text, key) => ({ key, text })),
    questions: options.questions,
    answerTimeout: String(options.answer_timeout_s),
    runTimeout: options.run_timeout_s === null ? '' : String(options.run_timeout_s),
    mentions: options.mentions,
  };
}

/** What is wrong with one command; `null` = nothing. */
export function rowProblem(text: string): RowProblem | null {
  const command = text.trim();
  if (command === '') return { kind: 'empty' };
  if (CONTROL.test(command)) return { kind: 'control' };
  const found = SHELL.exec(command)?.[0];
  return found === undefined ? null : { kind: 'shell', found };
}

/** A whole number of at least 1, as typed. */
function whole(text: string): number | null {
  const trimmed = text.trim();
  if (!/^\d{1,9}$/.test(trimmed)) return null;
  const value = Number(trimmed);
  return value >= 1 ? value : null;
}

/** The options the fields say, or what is wrong with them. Rows are looked at only where a list counts. */
export function readOptions(
  fields: OptionFields,
): { readonly options: RunOptions } | { readonly problems: OptionProblems } {
  const lists = fields.mode === 'commands';
  const rows = new Map<number, RowProblem>();
  for (const row of lists ? fields.commands : []) {
    const problem = rowProblem(row.text);
    if (problem !== null) rows.set(row.key, problem);
  }
  const count = fields.commands.length;
  const list = !lists ? null : count === 0 ? 'none' : count > MOST_COMMANDS ? 'many' : null;
  const answer = whole(fields.answerTimeout);
  const run = fields.runTimeout.trim() === '' ? null : whole(fields.runTimeout);
  const badAnswer = answer === null || answer > MOST_ANSWER_S;
  const badRun = fields.runTimeout.trim() !== '' && run === null;
  if (rows.size > 0 || list !== null || badAnswer || badRun) {
    return { problems: { rows, list, answer: badAnswer, run: badRun } };
  }
  const approvals: ApprovalMode =
    fields.mode === 'commands'
      ? { mode: 'commands', commands: fields.commands.map((row) => row.text.trim()) }
      : { mode: fields.mode };
  return {
    options: {
      approvals,
      questions: fields.questions,
      answer_timeout_s: answer,
      run_timeout_s: run,
      mentions: fields.mentions,
    },
  };
}

/** Whether commands run without a person's yes in this mode. */
export function runsUnasked(mode: ApprovalMode): boolean {
  return mode.mode === 'auto' || mode.mode === 'commands';
}

/** The options that hold: of the run that goes on, else of the next one. */
function holding(
  header: Pick<SessionHeader, 'run_options' | 'running_options'>,
): { readonly options: RunOptions; readonly running: boolean } | null {
  if (header.running_options !== null) return { options: header.running_options, running: true };
  return header.run_options === null ? null : { options: header.run_options, running: false };
}

/** The mark of a session whose commands run unasked; `null` where the person is asked, or everything is refused (P-50). */
export function unaskedMark(
  header: Pick<SessionHeader, 'run_options' | 'running_options'>,
): UnaskedMark | null {
  const held = holding(header);
  if (held === null || !runsUnasked(held.options.approvals)) return null;
  const { options, running } = held;
  const mode = options.approvals;
  return {
    listed: mode.mode === 'commands' ? mode.commands.length : null,
    running,
    until: running ? null : (options.unasked_until ?? null),
  };
}
