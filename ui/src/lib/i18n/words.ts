/** Words for the contract's enumerations. One place, so that every screen says the same thing the same way. */
import type {
  Activity,
  AppError,
  ChoiceKind,
  ConnectionCause,
  ErrorCode,
  LedgerRow,
  ProbeLayer,
  ProbeStep,
  Request,
  Server,
  ServerWarning,
  SessionRow,
  SessionState,
  StopReason,
  TokenState,
  ToolState,
} from '$lib/contract';
import { unknownTool } from '$lib/card/decision';
import { m } from '$paraglide/messages';
import { ownTitle } from './setup-words';

const ERRORS: Record<ErrorCode, () => string> = {
  invalid_input: m.err_invalid_input,
  not_found: m.err_not_found,
  request_changed: m.err_request_changed,
  request_settled: m.err_request_settled,
  request_not_ready: m.err_request_not_ready,
  session_ended: m.err_session_ended,
  server_paused: m.err_server_paused,
  unsupported: m.err_unsupported,
  busy: m.err_busy,
  stops_runs: m.err_stops_runs,
  unauthorized: m.err_unauthorized,
  forbidden: m.err_forbidden,
  gone_at_server: m.err_gone_at_server,
  conflict: m.err_conflict,
  rate_limited: m.err_rate_limited,
  server_refused: m.err_server_refused,
  server_failed: m.err_server_failed,
  unreachable: m.err_unreachable,
  wrong_protocol: m.err_wrong_protocol,
  too_large: m.err_too_large,
  insecure_url: m.err_insecure_url,
  other_origin: m.err_other_origin,
  keyring_missing: m.err_keyring_missing,
  keyring_locked: m.err_keyring_locked,
  keyring_failed: m.err_keyring_failed,
  token_missing: m.err_token_missing,
  store_failed: m.err_store_failed,
  store_too_new: m.err_store_too_new,
  store_locked: m.err_store_locked,
  link_refused: m.err_link_refused,
  internal: m.err_internal,
};

/** A code this page does not know yet falls back to the sentence that came with it. */
export function errorWords(error: AppError): string {
  return (ERRORS as Partial<Record<string, () => string>>)[error.code]?.() ?? error.message;
}

const LAYERS: Record<ProbeLayer, () => string> = {
  url: m.layer_url,
  dns: m.layer_dns,
  connect: m.layer_connect,
  tls: m.layer_tls,
  proxy: m.layer_proxy,
  answer: m.layer_answer,
  auth: m.layer_auth,
  protocol: m.layer_protocol,
};

export const layerWords = (layer: ProbeLayer): string => LAYERS[layer]();

const STEP_OK: Record<ProbeLayer, () => string> = {
  url: m.probe_url_ok,
  dns: m.probe_dns_ok,
  connect: m.probe_connect_ok,
  tls: m.probe_tls_ok,
  proxy: m.probe_proxy_ok,
  answer: m.probe_answer_ok,
  auth: m.probe_auth_ok,
  protocol: m.probe_protocol_ok,
};

const STEP_NO: Record<ProbeLayer, () => string> = {
  url: m.probe_url_no,
  dns: m.probe_dns_no,
  connect: m.probe_connect_no,
  tls: m.probe_tls_no,
  proxy: m.probe_proxy_no,
  answer: m.probe_answer_no,
  auth: m.probe_auth_no,
  protocol: m.probe_protocol_no,
};

/** One line of the probe. `tokenGiven` tells "wants a token" from "does not take this one". */
export function stepWords(step: ProbeStep, tokenGiven: boolean): string {
  if (step.outcome !== 'failed') return STEP_OK[step.layer]();
  if (step.layer === 'auth' && step.status === 401) {
    return tokenGiven ? m.probe_auth_401_given() : m.probe_auth_401();
  }
  if (step.layer === 'auth' && step.status === 403) return m.probe_auth_403();
  if (step.layer === 'protocol' && step.status === 404) return m.probe_protocol_404();
  return STEP_NO[step.layer]();
}

export function stopWords(stop: StopReason): string {
  switch (stop.kind) {
    case 'end_turn':
      return m.stop_end_turn();
    case 'requires_action':
      return m.stop_requires_action();
    case 'stopped':
      return m.stop_stopped();
    case 'max_turns':
      return m.stop_max_turns();
    case 'max_tokens':
      return m.stop_max_tokens();
    case 'budget':
      return m.stop_budget();
    case 'context_full':
      return m.stop_context_full();
    case 'paused':
      return m.stop_paused();
    case 'interrupted':
      return m.stop_interrupted();
    case 'timed_out':
      return m.stop_timed_out();
    case 'refusal':
      return stop.explanation === null ? m.stop_refusal() : m.stop_refusal_why({ text: stop.explanation });
    case 'error':
      return stop.message === null ? m.stop_error() : m.stop_error_why({ text: stop.message });
    case 'other':
      return m.stop_other({ word: stop.word });
  }
}

export function stateWords(state: SessionState): string {
  switch (state.kind) {
    case 'unknown':
      return m.state_unknown();
    case 'idle':
      return m.state_idle();
    case 'running':
      return m.state_running();
    case 'waiting':
      return m.state_waiting();
    case 'rescheduling':
      return m.state_rescheduling();
    case 'stopping':
      return m.state_stopping();
    case 'ended':
      return m.state_ended();
    case 'other':
      return state.word;
  }
}

export type Tone = 'wait' | 'run' | 'bad' | 'off' | '';

/** The dot's tone for a session. */
export function sessionTone(row: SessionRow, server: Server | undefined): Tone {
  if (row.waiting > 0 || row.state.kind === 'waiting') return 'wait';
  if (server !== undefined && ['unreachable', 'paused', 'off', 'unauthorized'].includes(server.state.kind))
    return 'off';
  if (['running', 'rescheduling', 'stopping'].includes(row.state.kind)) return 'run';
  if (row.activity?.kind === 'failed') return 'bad';
  return '';
}

export function serverTone(server: Server): Tone {
  switch (server.state.kind) {
    case 'online':
      return 'run';
    case 'unauthorized':
    case 'forbidden':
    case 'unreachable':
      return 'bad';
    case 'unknown':
    case 'checking':
      return '';
    case 'paused':
    case 'off':
      return 'off';
  }
}

function activityWords(activity: Activity): string {
  switch (activity.kind) {
    case 'thinking':
      return m.act_thinking();
    case 'writing':
      return m.act_writing();
    case 'tool':
      return m.act_tool({ name: activity.name });
    case 'finished':
      return stopWords(activity.stop);
    case 'failed':
      return m.act_failed({ message: activity.message });
  }
}

/** What a session's row says after its server's name. */
export function rowWords(row: SessionRow, server: Server | undefined): string {
  if (row.waiting > 1) return m.wants_permission({ count: row.waiting });
  if (row.waiting === 1) {
    switch (row.waiting_kind) {
      case 'question':
        return m.wants_answer();
      case 'client_tool':
        return m.wants_result();
      case 'fallback':
        return m.wants_look();
      case 'approval':
      case null:
        return m.wants_command();
    }
  }
  if (row.archived) return m.row_archived();
  if (row.state.kind === 'ended') return m.state_ended();
  switch (server?.state.kind) {
    case 'unreachable':
      return m.row_unreachable();
    case 'paused':
      return m.row_paused();
    case 'off':
      return m.row_off();
    case 'unauthorized':
      return m.row_unauthorized();
  }
  if (row.state.kind === 'stopping' || row.state.kind === 'rescheduling' || row.state.kind === 'other') {
    return stateWords(row.state);
  }
  return row.activity === null ? m.row_no_news() : activityWords(row.activity);
}

export function causeWords(cause: ConnectionCause): string {
  switch (cause.kind) {
    case 'closed':
      return m.cause_closed();
    case 'broken':
      return m.cause_broken();
    case 'silent':
      return m.cause_silent();
    case 'status':
      return m.cause_status({ status: cause.status });
    case 'unreachable':
      return m.cause_unreachable({ layer: layerWords(cause.layer) });
    case 'not_a_stream':
      return m.cause_not_a_stream();
    case 'wake':
      return m.cause_wake();
    case 'retry_now':
      return m.cause_retry_now();
  }
}

const CHOICES: Record<ChoiceKind, () => string> = {
  allow_once: m.dec_allow_once,
  allow_always: m.dec_allow_always,
  deny: m.dec_deny,
  answer: m.dec_answer,
  report_error: m.dec_report_error,
  decline: m.dec_decline,
};

export const choiceWords = (choice: ChoiceKind): string => CHOICES[choice]();

/** What a ledger row says: what, by whom when it was not the person, and its fate while that is open. */
export function decisionWords(row: LedgerRow, gathered = false): string {
  const by: Record<LedgerRow['by'], string | null> = {
    you: null,
    elsewhere: m.by_elsewhere(),
    server_rule: m.by_server_rule(),
    expiry: m.by_expiry(),
    stop: m.by_stop(),
  };
  const fate: Record<LedgerRow['fate']['kind'], string | null> = {
    sending: gathered ? m.fate_gathered() : m.fate_sending(),
    accepted: null,
    refused: m.fate_refused(),
    superseded: m.fate_superseded(),
    unknown: m.fate_unknown(),
  };
  const what = row.by === 'expiry' || row.by === 'stop' ? null : choiceWords(row.choice);
  return [what, by[row.by], fate[row.fate.kind]].filter((word) => word !== null).join(' · ');
}

export function toolStateWords(state: ToolState): string {
  switch (state.kind) {
    case 'announced':
      return m.tool_announced();
    case 'waiting':
      return m.tool_waiting();
    case 'running':
      return m.tool_running();
    case 'done':
      return m.tool_done();
    case 'failed':
      return m.tool_failed();
    case 'denied':
      return state.reason === null || state.reason === ''
        ? m.tool_denied()
        : m.tool_denied_why({ reason: state.reason });
    case 'cancelled':
      return m.tool_cancelled();
    case 'skipped':
      return m.tool_skipped();
  }
}

export function requestTitle(request: Request): string {
  switch (request.kind) {
    case 'approval':
      if (request.own_tool !== undefined) return ownTitle(request.own_tool);
      return request.command === null ? m.ask_tool() : m.ask_command();
    case 'client_tool':
      return unknownTool(request) === undefined ? m.ask_client_tool() : m.ask_unknown_title();
    case 'question':
      return m.ask_question();
    case 'fallback':
      return m.ask_fallback();
  }
}

/** The practice server's own name is the app's, in the app's language; any other name is the person's. */
export const serverName = (server: Pick<Server, 'name' | 'practice'>): string =>
  server.practice && server.name === 'Practice' ? m.practice_short() : server.name;

/** Where a tool comes from: the person, who is the client that runs it, the agent's server itself, or a server by name. */
export function sourceWords(source: string): string {
  if (source === 'client') return m.tool_from_client();
  return source === 'server' ? m.tool_from_server() : m.tool_from({ source });
}

const TOKENS: Record<TokenState, () => string> = {
  none: m.token_none,
  keyring: m.token_keyring,
  session_only: m.token_session_only,
  missing: m.token_missing,
};

export const tokenWords = (token: TokenState): string => TOKENS[token]();

const WARNINGS: Record<ServerWarning, () => string> = {
  unauthenticated: m.warn_unauthenticated,
  plain_http: m.warn_plain_http,
  token_not_stored: m.warn_token_not_stored,
  storage_full: m.warn_storage_full,
  commands_not_asked: m.warn_commands_not_asked,
  commands_refused: m.warn_commands_refused,
  no_model: m.warn_no_model,
};

export const warningWords = (warning: ServerWarning): string => WARNINGS[warning]();

const VERDICTS: Record<string, () => string> = {
  satisfied: m.verdict_satisfied,
  needs_revision: m.verdict_needs_revision,
  failed: m.verdict_failed,
  max_iterations_reached: m.verdict_max_iterations,
  interrupted: m.verdict_interrupted,
};

/** How a goal was judged; a word of the server's that is not known is shown as it came. */
export const verdictWords = (verdict: string): string => VERDICTS[verdict]?.() ?? verdict;
