/** Words for how runs are asked for, what an "always" covers, and what can be done where a run ended early. */
import type { ApprovalMode, Compaction, Scope, ServerWarning, StopReason, UnaskedMark } from '$lib/contract';
import { formatClock, formatNumber } from '$lib/format/format';
import type { RowProblem } from '$lib/run-options';
import { m } from '$paraglide/messages';
import { language } from './i18n.svelte';

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

/** What runs unasked, and where that holds. */
export function unaskedWords(mark: UnaskedMark): { readonly what: string; readonly scope: string } {
  const { listed, running, until } = mark;
  const what =
    listed !== null
      ? (running ? m.mode_commands_now : m.mode_commands_next)({ count: listed })
      : running
        ? m.mode_auto_now()
        : m.mode_auto_next();
  const scope = running
    ? m.mode_scope_run()
    : until === null
      ? m.mode_scope()
      : m.mode_scope_until({ time: formatClock(until).slice(0, 5) });
  return { what, scope };
}

/** What compacting did, with the numbers where the server has measured both. */
export function compactedWords({ applied, before, after }: Compaction): string {
  if (!applied) return m.mark_compact_unchanged();
  if (before === null || after === null) return m.mark_compacted();
  const number = (value: number) => formatNumber(value, language());
  return m.ses_compacted({ before: number(before.used), after: number(after.used) });
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
