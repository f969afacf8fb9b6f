/** Words for how runs are asked for, what an "always" covers, and what can be done where a run ended early. */
import type {
  ApprovalMode,
  RunOptions,
  Scope,
  ServerWarning,
  SessionHeader,
  StopReason,
} from '$lib/contract';
import { formatClock } from '$lib/format/format';
import { runsUnasked, type RowProblem } from '$lib/run-options';
import { m } from '$paraglide/messages';

/** What of a server holds for the runs of its sessions, and is said beside them. */
export const RUN_WARNINGS: readonly ServerWarning[] = ['commands_not_asked', 'commands_refused', 'no_model'];

/** The mode in a word or two, for a button. */
export function modeShort(mode: ApprovalMode): string {
  switch (mode.mode) {
    case 'ask':
      return m.opt_short_ask();
    case 'deny':
      return m.opt_short_deny();
    case 'auto':
      return m.opt_short_auto();
    case 'commands':
      return m.opt_short_commands({ count: mode.commands.length });
  }
}

/** The options that hold: of the run that goes on, else of the next one. */
export function holding(
  header: Pick<SessionHeader, 'run_options' | 'running_options'>,
): { readonly options: RunOptions; readonly running: boolean } | null {
  if (header.running_options !== null) return { options: header.running_options, running: true };
  return header.run_options === null ? null : { options: header.run_options, running: false };
}

function scopeOfMode(options: RunOptions, running: boolean): string {
  if (running) return m.mode_scope_run();
  const until = options.unasked_until;
  return until === undefined ? m.mode_scope() : m.mode_scope_until({ time: formatClock(until).slice(0, 5) });
}

/** What runs unasked and where that holds; `null` where the person is asked, or everything is refused (P-50). */
export function unaskedWords(
  header: Pick<SessionHeader, 'run_options' | 'running_options'>,
): { readonly what: string; readonly scope: string; readonly running: boolean } | null {
  const held = holding(header);
  if (held === null || !runsUnasked(held.options.approvals)) return null;
  const { options, running } = held;
  const mode = options.approvals;
  const what =
    mode.mode === 'commands'
      ? (running ? m.mode_commands_now : m.mode_commands_next)({ count: mode.commands.length })
      : running
        ? m.mode_auto_now()
        : m.mode_auto_next();
  return { what, scope: scopeOfMode(options, running), running };
}

export function rowProblemWords(problem: RowProblem): string {
  switch (problem.kind) {
    case 'empty':
      return m.opt_row_empty();
    case 'control':
      return m.opt_row_control();
    case 'shell':
      return m.opt_row_shell({ found: problem.found });
  }
}

/** What an "always" covers. Where the server says nothing, that is said too. */
export function scopeWords(scope: Scope | null): string {
  switch (scope?.kind) {
    case 'command_text_until_server_ends':
      return m.scope_command_text();
    case 'tool_in_session':
      return m.scope_tool_in_session({ tool: scope.tool });
    case 'words':
      return m.scope_words({ words: scope.words });
    case undefined:
      return m.scope_unknown();
  }
}

/** What a person can do after a run that ended in this way; `null` where nothing is left to do. */
export function endWords(stop: StopReason | null): string | null {
  switch (stop?.kind) {
    case 'context_full':
      return m.ban_context_full();
    case 'max_tokens':
      return m.ban_max_tokens();
    case 'paused':
      return m.ban_paused();
    case 'timed_out':
      return m.ban_timed_out();
    case 'interrupted':
      return m.ban_interrupted();
    case 'refusal':
      return m.ban_refusal();
    case 'error':
      return m.ban_error();
    default:
      return null;
  }
}
