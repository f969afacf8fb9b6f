// Generated from crates/contract. Do not edit: run `COUNTERSIGN_WRITE_CONTRACT=1 cargo test -p contract`.

/**
 * What a session was last seen doing.
 */
export type Activity = { "kind": "thinking" } | { "kind": "writing" } | { "kind": "tool", 
/**
 * Its name.
 */
name: string, } | { "kind": "finished", 
/**
 * How.
 */
stop: StopReason, } | { "kind": "failed", 
/**
 * The server's words, cut to one line.
 */
message: string, };

/**
 * An agent a new session can be given.
 */
export type AgentChoice = { 
/**
 * The server's id.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * What it is for.
 */
description: string | null, 
/**
 * Its model.
 */
model: string | null, 
/**
 * Names of its tools.
 */
tools: Array<string>, 
/**
 * What a session with it can be set up with.
 */
offer?: AgentOffer, };

/**
 * What an agent lets a new session choose.
 */
export type AgentOffer = { 
/**
 * The server's tools that can be switched on and trusted. It may have others that it does not name.
 */
tools: Array<OfferedTool>, 
/**
 * Its options.
 */
options: Array<AgentOption>, 
/**
 * It may be given tools of this app.
 */
own_tools: boolean, 
/**
 * A session may begin with a system prompt and with messages of another conversation.
 */
beginnings: boolean, 
/**
 * It takes images that lie elsewhere, by their https address.
 */
image_links: boolean, 
/**
 * It takes images inside a message.
 */
image_data: boolean, };

/**
 * One of an agent's options.
 */
export type AgentOption = { 
/**
 * Its name.
 */
name: string, 
/**
 * What it is called.
 */
title: string | null, 
/**
 * What it is for.
 */
description: string | null, 
/**
 * What it takes.
 */
kind: AgentOptionKind, 
/**
 * What it is where nothing is chosen; empty for a secret.
 */
default: string, 
/**
 * A secret: one is kept in the keyring for this server and agent.
 */
kept: boolean, };

/**
 * What an option takes.
 */
export type AgentOptionKind = { "kind": "text" } | { "kind": "select", 
/**
 * The values.
 */
values: Array<string>, } | { "kind": "secret" };

/**
 * The answer to one question.
 */
export type Answer = { 
/**
 * The question's id.
 */
question: string, 
/**
 * The chosen labels.
 */
labels: Array<string>, 
/**
 * Free text.
 */
text: string | null, };

/**
 * An error as the page sees it. The page acts on `code` and shows translated text for it; `message` is the
 * English sentence for logs and for codes the page does not know; `detail` stays behind "Details".
 */
export type AppError = { 
/**
 * What failed, for the page to act on.
 */
code: ErrorCode, 
/**
 * One English sentence that says what to do.
 */
message: string, 
/**
 * Whether the same action may work if tried again unchanged.
 */
retryable: boolean, 
/**
 * The technical cause: status, server words, request id. Never a token.
 */
detail: string | null, };

/**
 * What the page needs to know about the app when it starts.
 */
export type AppFacts = { 
/**
 * The app's version.
 */
version: string, 
/**
 * `linux`, `macos` or `windows`.
 */
os: string, 
/**
 * The preferences.
 */
preferences: Preferences, 
/**
 * Whether the OS keyring can be written and read.
 */
keyring: KeyringState, 
/**
 * Something that went wrong at start and must be told (database set aside, renderer fallback in use).
 */
notices: Array<StartNotice>, };

/**
 * How the commands of a run are answered.
 */
export type ApprovalMode = { "mode": "ask" } | { "mode": "deny" } | { "mode": "auto" } | { "mode": "commands", 
/**
 * The commands, one per row.
 */
commands: Array<string>, };

/**
 * A file the agent delivered.
 */
export type Artifact = { 
/**
 * The server's file id.
 */
file_id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * Its size in bytes.
 */
bytes: number | null, 
/**
 * Its media type.
 */
media_type: string | null, };

/**
 * The answer to a question beside the transcript.
 */
export type AsideAnswer = { 
/**
 * The answer, Markdown.
 */
answer: string, };

/**
 * Arguments of `ask_aside`.
 */
export type AskAside = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * The question.
 */
question: string, };

/**
 * How a token is sent.
 */
export type AuthStyle = "bearer" | "api_key" | "both";

/**
 * One message over a window's channel: patches in order. `number` counts up by one per window; on a hole the
 * page asks for new snapshots.
 */
export type Batch = { 
/**
 * Counts up by one per window, from 1.
 */
number: number, 
/**
 * What changed, in order.
 */
patches: Array<Patch>, };

/**
 * What a server of some protocol and dialect can do. Data, so that the page never asks which protocol it is.
 */
export type Capabilities = { 
/**
 * Lists its sessions.
 */
list_sessions: boolean, 
/**
 * Creates sessions.
 */
create_session: boolean, 
/**
 * A new session needs an agent from a list.
 */
agents: boolean, 
/**
 * A new session needs an environment from a list.
 */
environments: boolean, 
/**
 * Environments can be created.
 */
create_environment: boolean, 
/**
 * Renames sessions.
 */
rename: boolean, 
/**
 * Archives sessions.
 */
archive: boolean, 
/**
 * Deletes sessions.
 */
delete: boolean, 
/**
 * Stops a running turn.
 */
stop: boolean, 
/**
 * Where a message goes that is sent while a turn runs.
 */
while_running: WhileRunning, 
/**
 * Takes a reason with a denial.
 */
deny_reason: boolean, 
/**
 * Takes images in messages.
 */
images: boolean, 
/**
 * Takes outcomes (goals with a rubric).
 */
outcomes: boolean, 
/**
 * Asks the client to run tools of its own.
 */
client_tools: boolean, 
/**
 * Runs sub-agents in threads.
 */
threads: boolean, 
/**
 * The stream can be left and taken up again without harm. Where false, closing it stops or loses the work.
 */
reattach: boolean, 
/**
 * A run that ended early can be taken up again.
 */
resume: boolean, 
/**
 * Copies a session.
 */
fork: boolean, 
/**
 * Compacts a session's context on demand.
 */
compact: boolean, 
/**
 * Says how full the context is.
 */
context: boolean, 
/**
 * Lets the model find a title.
 */
name_itself: boolean, 
/**
 * Answers a question beside the transcript.
 */
ask_aside: boolean, 
/**
 * Writes a session as a page of its own.
 */
export_page: boolean, 
/**
 * Completes `@` mentions.
 */
mentions: boolean, 
/**
 * Takes options with each run.
 */
run_options: boolean, 
/**
 * Its settings (permission level, model) can be changed from here.
 */
settings: boolean, 
/**
 * Has one current session at a time: acting on another brings that one to the front.
 */
one_current: boolean, 
/**
 * Sessions are set up with tools, options and tools of this app.
 */
setup: boolean, 
/**
 * Answers to all that a turn asks leave together, in one request.
 */
answers_together: boolean, 
/**
 * A stop only ends our listening: the server goes on.
 */
stop_lets_go: boolean, 
/**
 * Takes images that lie elsewhere, by their https address.
 */
image_links: boolean, 
/**
 * Has no titles of its own: they are kept here.
 */
titles_here: boolean, };

/**
 * Arguments of `change_server_setting`.
 */
export type ChangeServerSetting = { 
/**
 * Which server.
 */
server: ServerId, 
/**
 * The change.
 */
setting: ServerSetting, };

/**
 * One way to answer.
 */
export type Choice = { 
/**
 * Its id, given back in the decision.
 */
id: string, 
/**
 * What it does.
 */
kind: ChoiceKind, 
/**
 * The server's own label, where it has one.
 */
label: string | null, 
/**
 * For "always": what it covers.
 */
scope: Scope | null, 
/**
 * Whether a reason is taken with it.
 */
takes_reason: boolean, };

/**
 * What a choice does.
 */
export type ChoiceKind = "allow_once" | "allow_always" | "deny" | "answer" | "report_error" | "decline";

/**
 * What closing the window shall do.
 */
export type CloseAction = "hide" | "quit" | "cancel";

/**
 * Arguments of `close_window`.
 */
export type CloseWindow = { 
/**
 * What to do.
 */
action: CloseAction, };

/**
 * Why a session takes nothing.
 */
export type ClosedReason = "archived" | "terminated" | "deleted" | "server_removed";

/**
 * What compacting a session's context did. A missing part was not said by the server.
 */
export type Compaction = { 
/**
 * The context is another one now; where not, nothing was gained by trying.
 */
applied: boolean, 
/**
 * What the model keeps of what was put together.
 */
summary: string | null, 
/**
 * Messages that were put together.
 */
compressed: number | null, 
/**
 * Messages that were kept as they are.
 */
kept: number | null, 
/**
 * How full the context was right before.
 */
before: ContextMeter | null, 
/**
 * How full it is now, as far as the server has measured it anew.
 */
after: ContextMeter | null, };

/**
 * Arguments of `complete_mention`.
 */
export type CompleteMention = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * What stands behind the `@` so far.
 */
query: string, };

/**
 * Why a connection ended or could not be made.
 */
export type ConnectionCause = { "kind": "closed" } | { "kind": "broken" } | { "kind": "silent" } | { "kind": "status", 
/**
 * The HTTP status.
 */
status: number, } | { "kind": "unreachable", 
/**
 * The layer that failed.
 */
layer: ProbeLayer, } | { "kind": "not_a_stream" } | { "kind": "wake" } | { "kind": "retry_now" };

/**
 * What a line of the connection log says.
 */
export type ConnectionLogKind = { "kind": "connecting", 
/**
 * Which.
 */
attempt: number, } | { "kind": "connected" } | { "kind": "resumed", 
/**
 * Events that were new.
 */
recovered: number, 
/**
 * Events that were known already.
 */
duplicates: number, 
/**
 * How long the link was down.
 */
away_ms: number, } | { "kind": "dropped", 
/**
 * Why.
 */
cause: ConnectionCause, } | { "kind": "waiting_until", 
/**
 * When.
 */
retry_at: number, } | { "kind": "cursor_expired" } | { "kind": "ended" } | { "kind": "closed_here" };

/**
 * One line of the connection log.
 */
export type ConnectionLogRow = { 
/**
 * When.
 */
at: number, 
/**
 * What happened.
 */
what: ConnectionLogKind, 
/**
 * The cursor at that moment.
 */
cursor: string | null, 
/**
 * More, for people who look closely.
 */
detail: string | null, };

/**
 * The state of one session's stream.
 */
export type ConnectionState = { "kind": "closed" } | { "kind": "connecting", 
/**
 * How many tries have failed since the last stable connection.
 */
attempt: number, } | { "kind": "live", 
/**
 * Since when.
 */
since: number, } | { "kind": "waiting", 
/**
 * How many tries have failed.
 */
attempt: number, 
/**
 * When the next one starts.
 */
retry_at: number, 
/**
 * Why the last one failed.
 */
cause: ConnectionCause, 
/**
 * The cause in words, for "Details".
 */
detail: string, } | { "kind": "unauthorized" } | { "kind": "forbidden", 
/**
 * What the server said.
 */
message: string, } | { "kind": "gone" } | { "kind": "ended" } | { "kind": "paused" } | { "kind": "full" };

/**
 * How full the model's context is.
 */
export type ContextMeter = { 
/**
 * Tokens in use.
 */
used: number, 
/**
 * Tokens there is room for, where known.
 */
window: number | null, 
/**
 * Parts of it could not be counted.
 */
partial: boolean, 
/**
 * What takes the room, largest first as the server says it.
 */
shares: Array<ContextShare>, };

/**
 * What one kind of content takes of the context.
 */
export type ContextShare = { 
/**
 * The server's name for it.
 */
name: string, 
/**
 * Tokens.
 */
tokens: number, 
/**
 * How many pieces.
 */
items: number | null, };

/**
 * Arguments of `copy_text`.
 */
export type CopyText = { 
/**
 * The text.
 */
text: string, };

/**
 * Arguments of `create_environment`.
 */
export type CreateEnvironment = { 
/**
 * At which server.
 */
server: ServerId, 
/**
 * Its name.
 */
name: string, };

/**
 * Arguments of `create_session`.
 */
export type CreateSession = { 
/**
 * At which server.
 */
server: ServerId, 
/**
 * The agent's id, where the server has agents.
 */
agent: string | null, 
/**
 * The environment's id, where the server has environments.
 */
environment: string | null, 
/**
 * A title.
 */
title: string | null, 
/**
 * The first message; empty = none yet.
 */
message: string, 
/**
 * What it begins with, where the server takes such things.
 */
start?: SessionStart, };

/**
 * Who decided.
 */
export type DecidedBy = "you" | "elsewhere" | "server_rule" | "expiry" | "stop";

/**
 * What the person decided. `digest` must equal the card's.
 */
export type Decision = { 
/**
 * The session.
 */
session: SessionId, 
/**
 * The request.
 */
request: string, 
/**
 * The digest of what was shown.
 */
digest: string, 
/**
 * The chosen choice's id.
 */
choice: string, 
/**
 * The reason, for a denial.
 */
reason: string | null, 
/**
 * The answers, one per question, for a question.
 */
answers: Array<Answer>, 
/**
 * The result, for a client tool.
 */
result: string | null, };

/**
 * Arguments of `define_outcome`.
 */
export type DefineOutcome = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * What is wanted.
 */
description: string, 
/**
 * What it is judged by.
 */
rubric: string, 
/**
 * 1 to 20; `None` = the server's default.
 */
max_iterations: number | null, };

/**
 * Arguments of `edit_server`.
 */
export type EditServer = { 
/**
 * Which.
 */
server: ServerId, 
/**
 * Its new name.
 */
name: string, 
/**
 * Its new address. A new origin drops the stored token: a token belongs to the server it was given for.
 */
base_url: string, 
/**
 * Its protocol.
 */
protocol: string, 
/**
 * Its options.
 */
options: ServerOptions, 
/**
 * The person agreed that runs of it which cannot be left are stopped by this.
 */
stop_runs?: boolean, };

/**
 * An environment a new session can run in.
 */
export type EnvironmentChoice = { 
/**
 * The server's id.
 */
id: string, 
/**
 * Its name.
 */
name: string, 
/**
 * What it is.
 */
description: string | null, };

/**
 * Every kind of failure the page tells apart.
 */
export type ErrorCode = "invalid_input" | "not_found" | "request_changed" | "request_settled" | "request_not_ready" | "session_ended" | "server_paused" | "unsupported" | "busy" | "stops_runs" | "unauthorized" | "forbidden" | "gone_at_server" | "conflict" | "rate_limited" | "server_refused" | "server_failed" | "unreachable" | "wrong_protocol" | "too_large" | "insecure_url" | "other_origin" | "keyring_missing" | "keyring_locked" | "keyring_failed" | "token_missing" | "store_failed" | "store_too_new" | "store_locked" | "link_refused" | "internal";

/**
 * A file that was written.
 */
export type ExportedFile = { 
/**
 * Its full path.
 */
path: string, 
/**
 * Its size in bytes.
 */
bytes: number, };

/**
 * Where a decision stands.
 */
export type Fate = { "kind": "sending" } | { "kind": "accepted" } | { "kind": "refused", 
/**
 * Its words.
 */
message: string, } | { "kind": "superseded" } | { "kind": "unknown" };

/**
 * A goal set for a session (an outcome).
 */
export type Goal = { 
/**
 * The outcome's id; empty until the server gave one.
 */
id: string, 
/**
 * What is wanted.
 */
description: string, 
/**
 * The rubric it is judged by, where known.
 */
rubric: string | null, 
/**
 * Which iteration runs.
 */
iteration: number | null, 
/**
 * The last verdict's word (`satisfied`, `needs_revision`, …), verbatim.
 */
verdict: string | null, 
/**
 * The last verdict's explanation.
 */
explanation: string | null, 
/**
 * Being judged right now.
 */
evaluating: boolean, };

/**
 * One extra header.
 */
export type Header = { 
/**
 * Its name.
 */
name: string, 
/**
 * Its value.
 */
value: string, };

/**
 * One session that was found.
 */
export type HistoryHit = { 
/**
 * The session.
 */
row: SessionRow, 
/**
 * Its server's name, kept also for servers that were removed.
 */
server_name: string, 
/**
 * The first places where the words stand.
 */
places: Array<HistoryPlace>, 
/**
 * When it was last active.
 */
last_active_at: number | null, };

/**
 * What was found.
 */
export type HistoryPage = { 
/**
 * The sessions, best or newest first.
 */
hits: Array<HistoryHit>, 
/**
 * Whether there are more.
 */
more: boolean, 
/**
 * Events that are not in the index yet: results may be missing these.
 */
index_behind: number, };

/**
 * One place where the words stand.
 */
export type HistoryPlace = { 
/**
 * The item; `None` = the title.
 */
item: string | null, 
/**
 * Text before the match.
 */
before: string, 
/**
 * The match.
 */
matched: string, 
/**
 * Text after it.
 */
after: string, };

/**
 * What is looked for.
 */
export type HistoryQuery = { 
/**
 * The words; empty = everything, newest first.
 */
text: string, 
/**
 * Only this server's.
 */
server: ServerId | null, 
/**
 * Rows to skip.
 */
offset: number, 
/**
 * Rows wanted (at most 200).
 */
limit: number, };

/**
 * One message of a conversation that a new session begins with.
 */
export type ImportedMessage = { 
/**
 * Who said it.
 */
role: Role, 
/**
 * Its text.
 */
text: string, };

/**
 * One item of the transcript.
 */
export type Item = { 
/**
 * Its id, unique in its session.
 */
id: string, 
/**
 * Its place: items are shown in rising order; ties by id.
 */
order: number, 
/**
 * The turn it belongs to.
 */
turn: string | null, 
/**
 * The sub-agent it belongs to.
 */
thread: string | null, 
/**
 * When it happened, as the server says; else when it was received.
 */
at: number, 
/**
 * What it is.
 */
body: ItemBody, };

/**
 * What an item is.
 */
export type ItemBody = { "kind": "message" } & Message | { "kind": "thought" } & Thought | { "kind": "tool" } & ToolCall | { "kind": "notice" } & Notice | { "kind": "marker" } & Marker | { "kind": "artifact" } & Artifact | { "kind": "unknown" } & Unknown;

/**
 * A page of items for scrolling up.
 */
export type ItemPage = { 
/**
 * In order.
 */
items: Array<Item>, 
/**
 * Whether older ones exist.
 */
has_older: boolean, };

/**
 * What the write-and-read probe of the keyring found at start.
 */
export type KeyringState = { "kind": "checking" } | { "kind": "ready" } | { "kind": "missing", 
/**
 * The cause in words.
 */
detail: string, } | { "kind": "locked", 
/**
 * The cause in words.
 */
detail: string, } | { "kind": "failed", 
/**
 * The cause in words.
 */
detail: string, };

/**
 * The languages of the page.
 */
export type Language = "en" | "zh-CN";

/**
 * One row of the ledger.
 */
export type LedgerRow = { 
/**
 * Its number; the chain runs over these.
 */
number: number, 
/**
 * The session.
 */
session: SessionId, 
/**
 * The request.
 */
request: string, 
/**
 * When it was decided.
 */
at: number, 
/**
 * Who decided.
 */
by: DecidedBy, 
/**
 * What.
 */
choice: ChoiceKind, 
/**
 * The tool's name.
 */
tool: string | null, 
/**
 * One line of what was decided on (the command or the arguments, cut).
 */
subject: string, 
/**
 * The reason given.
 */
reason: string | null, 
/**
 * The digest of what was shown.
 */
digest: string, 
/**
 * Where the decision stands.
 */
fate: Fate, 
/**
 * How long the request had waited, in milliseconds.
 */
waited_ms: number, };

/**
 * Arguments of `connection_log` and `decisions`.
 */
export type LogQuery = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * How many of the newest rows (≤ 1,000).
 */
limit: number, };

/**
 * Something in a text that a reader would not see, or would take for something else.
 */
export type Mark = { 
/**
 * What it is.
 */
kind: MarkKind, 
/**
 * Where it begins, in characters (Unicode scalar values).
 */
from: number, 
/**
 * How many characters it covers.
 */
chars: number, };

/**
 * What a mark is about.
 */
export type MarkKind = "bidi" | "zero_width" | "tag" | "invisible" | "control" | "terminal_escape" | "look_alike" | "long_spaces" | "blank_lines" | "very_long";

/**
 * A line across the transcript.
 */
export type Marker = { "what": "turn_end", 
/**
 * How.
 */
stop: StopReason, } | { "what": "resumed", 
/**
 * How long it was away.
 */
away_ms: number, 
/**
 * The cursor it resumed after.
 */
after: string | null, 
/**
 * Events recovered.
 */
recovered: number, } | { "what": "gap", 
/**
 * What is known of it.
 */
detail: string, 
/**
 * Whether history filled it.
 */
recovered: boolean, } | { "what": "interrupted" } | { "what": "app_closed", 
/**
 * When.
 */
at: number, } | { "what": "compacted", 
/**
 * What the model keeps of it, where the server says it.
 */
summary: Text | null, 
/**
 * Still going on.
 */
active: boolean, 
/**
 * It was tried, and nothing was gained.
 */
unchanged: boolean, } | { "what": "steering", 
/**
 * What became of it.
 */
phase: SteeringPhase, 
/**
 * Its text, where the server repeats it.
 */
text: string | null, } | { "what": "ruled", 
/**
 * What it answered.
 */
on: RuledOn, 
/**
 * Allowed (or answered) rather than refused (or declined).
 */
allowed: boolean, 
/**
 * The command or the question, in full.
 */
subject: Text, } | { "what": "rescheduled" } | { "what": "ended", 
/**
 * The server's reason.
 */
reason: string | null, } | { "what": "thread_started", 
/**
 * Its name.
 */
name: string | null, } | { "what": "goal", 
/**
 * The goal's id.
 */
id: string, 
/**
 * The description, where it was set.
 */
description: string | null, 
/**
 * The verdict's word, where it was judged.
 */
verdict: string | null, 
/**
 * The iteration.
 */
iteration: number | null, 
/**
 * The explanation.
 */
explanation: string | null, };

/**
 * One completion of an `@` mention.
 */
export type Mention = { 
/**
 * What is put into the text, behind the `@`.
 */
token: string, 
/**
 * The server's word for what it is (`file`, `folder`, …).
 */
kind: string, 
/**
 * Its name.
 */
name: string, 
/**
 * More about it.
 */
description: string | null, };

/**
 * Something said.
 */
export type Message = { 
/**
 * Who said it.
 */
role: Role, 
/**
 * Its parts, in order.
 */
parts: Array<Part>, 
/**
 * Whether it is all there.
 */
state: MessageState, };

/**
 * Whether a message is all there.
 */
export type MessageState = { "kind": "done" } | { "kind": "streaming" } | { "kind": "incomplete" } | { "kind": "sending" } | { "kind": "queued" } | { "kind": "refused", 
/**
 * Why.
 */
message: string, } | { "kind": "uncertain" };

/**
 * A model a server has.
 */
export type ModelChoice = { 
/**
 * The name it is chosen by.
 */
name: string, 
/**
 * Its provider's name for it, where that is another.
 */
model: string | null, 
/**
 * Tokens its context has room for.
 */
context_window: number | null, 
/**
 * It takes images.
 */
images: boolean, };

/**
 * What the new-session form offers for one server.
 */
export type NewSessionOptions = { 
/**
 * The agents; empty = none exist (where the server needs one, that is said).
 */
agents: Array<AgentChoice>, 
/**
 * The environments.
 */
environments: Array<EnvironmentChoice>, };

/**
 * No arguments.
 */
export type NoArgs = Record<symbol, never>;

/**
 * Something to say.
 */
export type Notice = { 
/**
 * How loud.
 */
level: NoticeLevel, 
/**
 * What about; the page has words for the codes it knows.
 */
code: NoticeCode, 
/**
 * The server's or our words.
 */
text: string, 
/**
 * More, behind "Details".
 */
detail: Text | null, };

/**
 * What a notice is about.
 */
export type NoticeCode = "server" | "error_retrying" | "error_fatal" | "unreadable_frame" | "too_large" | "bad_utf8" | "fallback_card";

/**
 * How loud a notice is.
 */
export type NoticeLevel = "info" | "warning" | "error";

/**
 * One of the server's tools.
 */
export type OfferedTool = { 
/**
 * Its name.
 */
name: string, 
/**
 * What it is called.
 */
title: string | null, 
/**
 * What it does, in the server's words.
 */
description: string | null, };

/**
 * Arguments of `open_link`.
 */
export type OpenLink = { 
/**
 * The address, exactly as it was shown.
 */
url: string, };

/**
 * One option's value.
 */
export type OptionSetting = { 
/**
 * Its name.
 */
name: string, 
/**
 * Its value. `None` for a secret: whether there is one is all that is told.
 */
value: string | null, };

/**
 * Everything the sidebar and the shared screens show.
 */
export type Overview = { 
/**
 * Servers in the person's order.
 */
servers: Array<Server>, 
/**
 * Sessions worth a row in the sidebar.
 */
sessions: Array<SessionRow>, 
/**
 * The app's own facts.
 */
facts: AppFacts, 
/**
 * The number of the last batch this includes.
 */
batch: number, };

/**
 * A change of the overview.
 */
export type OverviewChange = { "kind": "servers", 
/**
 * All of them.
 */
servers: Array<Server>, } | { "kind": "session", 
/**
 * The row.
 */
row: SessionRow, } | { "kind": "session_gone", 
/**
 * Which.
 */
session: SessionId, } | { "kind": "facts", 
/**
 * All of them.
 */
facts: AppFacts, } | { "kind": "notice", 
/**
 * Which.
 */
server: ServerId, 
/**
 * The words.
 */
text: string, };

/**
 * A call of one of this app's own tools, read from its arguments. What cannot be read so stays a plain client tool.
 */
export type OwnToolCall = { "tool": "notify_user", 
/**
 * Its title.
 */
title: string, 
/**
 * Its text.
 */
body: string, } | { "tool": "open_link", 
/**
 * The address, exactly as received.
 */
url: string, } | { "tool": "read_clipboard" } | { "tool": "write_clipboard", 
/**
 * The new text, in full.
 */
text: string, };

/**
 * Arguments of `report_page_error`.
 */
export type PageError = { 
/**
 * The message.
 */
message: string, 
/**
 * Where.
 */
stack: string | null, };

/**
 * One part of a message or a result.
 */
export type Part = { "kind": "text" } & Text | { "kind": "image", 
/**
 * `image/png`, …
 */
media_type: string, 
/**
 * How to read it: its bytes, as base64.
 */
handle: string, 
/**
 * Decoded bytes.
 */
bytes: number, } | { "kind": "remote", 
/**
 * `image`, `document`, …
 */
what: string, 
/**
 * The address or file id, in full.
 */
address: string, } | { "kind": "redacted" } | { "kind": "unknown", 
/**
 * The block's type, verbatim.
 */
what: string, 
/**
 * The raw JSON.
 */
raw: Text, };

/**
 * One change.
 */
export type Patch = { "topic": "overview", 
/**
 * The change.
 */
change: OverviewChange, } | { "topic": "session", 
/**
 * The session.
 */
session: SessionId, 
/**
 * Counts up by one per session from its snapshot's number.
 */
revision: number, 
/**
 * The change.
 */
change: SessionChange, };

/**
 * Arguments of `pause_server`.
 */
export type PauseServer = { 
/**
 * Which.
 */
server: ServerId, 
/**
 * Paused, or going again.
 */
paused: boolean, 
/**
 * The person agreed that runs of it which cannot be left are stopped by this.
 */
stop_runs?: boolean, };

/**
 * A part of a big payload, read by handle.
 */
export type PayloadChunk = { 
/**
 * The text from `from`, at most as long as asked for.
 */
text: string, 
/**
 * The first character (Unicode scalar value) of `text` in the whole.
 */
from: number, 
/**
 * Characters of the whole.
 */
chars: number, 
/**
 * When it was read, so that the page can tell a changed payload.
 */
read_at: number, };

/**
 * All preferences. Kept by tauri-plugin-store, from Rust only.
 */
export type Preferences = { 
/**
 * Light, dark, or as the system says.
 */
theme: Theme, 
/**
 * The language; `None` = as the system says.
 */
language: Language | null, 
/**
 * Whether the practice server is switched on.
 */
practice_on: boolean, 
/**
 * Long payloads need to be scrolled through before Allow is enabled. `None` = yes.
 */
scroll_before_allow: boolean | null, };

/**
 * A server that works.
 */
export type ProbeFound = { 
/**
 * The protocol's id.
 */
protocol: string, 
/**
 * Its dialect, where it has any.
 */
dialect: string | null, 
/**
 * The address to save (a prefix such as `/v1` may have been added).
 */
base_url: string, 
/**
 * The server's version, where it says one.
 */
version: string | null, 
/**
 * It answered without a token.
 */
unauthenticated: boolean, };

/**
 * The layers between us and a working server, in the order they are tried.
 */
export type ProbeLayer = "url" | "dns" | "connect" | "tls" | "proxy" | "answer" | "auth" | "protocol";

/**
 * How a layer of the probe went.
 */
export type ProbeOutcome = "ok" | "failed" | "warning";

/**
 * What a probe found.
 */
export type ProbeReport = { 
/**
 * The layers in order, up to the first that failed.
 */
steps: Array<ProbeStep>, 
/**
 * What was found, where all layers work.
 */
found: ProbeFound | null, 
/**
 * The failure to act on, where one layer does not.
 */
error: AppError | null, };

/**
 * One line of the probe.
 */
export type ProbeStep = { 
/**
 * Which layer.
 */
layer: ProbeLayer, 
/**
 * How it went.
 */
outcome: ProbeOutcome, 
/**
 * The fact found (host, status, version, server words); never a token.
 */
detail: string | null, 
/**
 * The HTTP status, where there was one.
 */
status: number | null, };

/**
 * One question of a question request.
 */
export type Question = { 
/**
 * Its id in its request.
 */
id: string, 
/**
 * Its text.
 */
text: string, 
/**
 * The options, by label.
 */
options: Array<string>, 
/**
 * Whether several may be chosen.
 */
multiple: boolean, 
/**
 * Whether free text is taken.
 */
free_text: boolean, };

/**
 * How the questions of a run are answered.
 */
export type QuestionMode = "ask" | "decline";

/**
 * What to do with a queued message.
 */
export type QueuedAction = "drop" | "release" | "decline_and_send";

/**
 * A message that waits here until the turn ends.
 */
export type QueuedMessage = { 
/**
 * Its id here.
 */
id: string, 
/**
 * Its text.
 */
text: string, 
/**
 * When it was written.
 */
at: number, 
/**
 * Held back because the turn was stopped or failed: sent only on the person's word.
 */
held: boolean, 
/**
 * How many images go with it.
 */
images?: number, };

/**
 * Arguments of `queued_message`.
 */
export type QueuedMessageAction = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * The queued message's id.
 */
id: string, 
/**
 * What to do with it.
 */
action: QueuedAction, };

/**
 * Arguments of `read_items`.
 */
export type ReadItems = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * Items before this one.
 */
before: string, 
/**
 * How many at most (≤ 500).
 */
limit: number, };

/**
 * Arguments of `read_payload`.
 */
export type ReadPayload = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * The handle, as an item or request carried it.
 */
handle: string, 
/**
 * The first character wanted.
 */
from: number, 
/**
 * How many characters at most (≤ 262,144).
 */
limit: number, };

/**
 * One reason, and the part of the payload that it is about.
 */
export type Reason = { 
/**
 * Why.
 */
reason: RiskReason, 
/**
 * How bad this alone is.
 */
class: RiskClass, 
/**
 * The part it is about: a command's words, a path, a host.
 */
about: string, 
/**
 * Which segment of the command, from 0; `None` = the whole payload.
 */
segment: number | null, };

/**
 * Arguments of `remove_server`.
 */
export type RemoveServer = { 
/**
 * Which.
 */
server: ServerId, 
/**
 * The person agreed that runs of it which cannot be left are stopped by this.
 */
stop_runs?: boolean, };

/**
 * Arguments of `rename_session`.
 */
export type RenameSession = { 
/**
 * Which.
 */
session: SessionId, 
/**
 * The new title.
 */
title: string, };

/**
 * Arguments of `reorder_servers`.
 */
export type ReorderServers = { 
/**
 * All server ids, in the wanted order.
 */
order: Array<ServerId>, };

/**
 * Arguments of `replace_token`.
 */
export type ReplaceToken = { 
/**
 * Which.
 */
server: ServerId, 
/**
 * The new token as pasted; empty = use none.
 */
token: string, 
/**
 * Keep it in memory only.
 */
session_only: boolean, 
/**
 * The person agreed that using no token any more stops runs of it which cannot be left.
 */
stop_runs?: boolean, };

/**
 * Something that waits for the person.
 */
export type Request = { 
/**
 * Its id in its session.
 */
id: string, 
/**
 * Its session.
 */
session: SessionId, 
/**
 * Its server.
 */
server: ServerId, 
/**
 * The server's name, for the card.
 */
server_name: string, 
/**
 * What is asked.
 */
kind: RequestKind, 
/**
 * The tool's name, where one is asked about.
 */
tool: string | null, 
/**
 * Where the tool comes from, when not built in (MCP server).
 */
source: string | null, 
/**
 * The item in the transcript that this is about.
 */
item: string | null, 
/**
 * The sub-agents from the root to the asker; empty for the session's own agent.
 */
agent_path: Array<string>, 
/**
 * The command, where the call runs one.
 */
command: Text | null, 
/**
 * Where it would run, where the server says it.
 */
work_dir: string | null, 
/**
 * The arguments as text made in Rust: exactly what was received, indented.
 */
arguments: Text, 
/**
 * Lines of what is shown (the command, or else the arguments).
 */
lines: number, 
/**
 * The questions, for `question`.
 */
questions: Array<Question>, 
/**
 * What can be answered.
 */
choices: Array<Choice>, 
/**
 * Where it stands.
 */
state: RequestState, 
/**
 * Why it can be answered only once and not remembered, or needs care; the page shows each in words.
 */
flags: Array<RequestFlag>, 
/**
 * SHA-256 over what is shown (design: "What you approve is what runs"), hex. A decision must carry it.
 */
digest: string, 
/**
 * When it was asked.
 */
asked_at: number, 
/**
 * When the server gives up on it, where it says so.
 */
deadline: number | null, 
/**
 * The group it belongs to, where the answers to all of a group are sent together. Each is decided on its own.
 */
group?: string, 
/**
 * What this app would do, where one of its own tools is called: an allowed call is carried out here.
 */
own_tool?: OwnToolCall, 
/**
 * What it can do, as this app judges by itself. `None` for what does nothing (a question).
 */
risk?: Risk, 
/**
 * What a reader would not see in the payload that is shown (the command, or else the arguments), in order.
 */
marks?: Array<Mark>, };

/**
 * What needs care about a request.
 */
export type RequestFlag = "raw_arguments" | "too_large" | "duplicate_keys" | "hidden_characters";

/**
 * What is asked.
 */
export type RequestKind = "approval" | "question" | "client_tool" | "fallback";

/**
 * Where a request stands.
 */
export type RequestState = { "kind": "announced" } | { "kind": "open" } | { "kind": "gathered", 
/**
 * What was chosen.
 */
choice: ChoiceKind, 
/**
 * When.
 */
at: number, } | { "kind": "sending", 
/**
 * What was chosen.
 */
choice: ChoiceKind, 
/**
 * How many tries so far.
 */
attempt: number, } | { "kind": "accepted", 
/**
 * What was chosen.
 */
choice: ChoiceKind, 
/**
 * When.
 */
at: number, } | { "kind": "refused", 
/**
 * What was chosen.
 */
choice: ChoiceKind, 
/**
 * The server's words.
 */
message: string, } | { "kind": "expired" } | { "kind": "elsewhere", 
/**
 * What was answered, where known.
 */
choice: ChoiceKind | null, 
/**
 * When it was seen.
 */
at: number, } | { "kind": "unsure", 
/**
 * What we had chosen.
 */
choice: ChoiceKind, 
/**
 * When it was seen.
 */
at: number, } | { "kind": "void" };

/**
 * A run that can be taken up again.
 */
export type Resumable = { 
/**
 * The server's word for what would be done, verbatim.
 */
kind: string, 
/**
 * The same in the server's words.
 */
description: string | null, };

/**
 * What a payload can do.
 */
export type Risk = { 
/**
 * The worst of its reasons; `Low` where there are none.
 */
class: RiskClass, 
/**
 * Why, worst first.
 */
reasons: Array<Reason>, 
/**
 * The commands of a shell payload; empty where it is none, or could not be read.
 */
segments: Array<Segment>, };

/**
 * How much harm a payload can do, as far as this app can tell by itself.
 */
export type RiskClass = "low" | "medium" | "unknown" | "high";

/**
 * Why.
 */
export type RiskReason = "deletes" | "overwrites" | "writes" | "runs_downloaded" | "downloads" | "elevates" | "reads_secrets" | "sends_out" | "touches_git" | "leaves_workspace" | "package_scripts" | "obfuscated" | "runs_code" | "changes_system" | "unknown_program" | "unparsed" | "unknown_shell" | "unknown_tool" | "hidden" | "too_long";

/**
 * Who said a message.
 */
export type Role = "user" | "agent" | "system";

/**
 * What a rule answered.
 */
export type RuledOn = "command" | "question";

/**
 * How a run is asked for, where the server takes options with each one.
 */
export type RunOptions = { 
/**
 * How commands are answered.
 */
approvals: ApprovalMode, 
/**
 * When a mode in which commands run unasked lapses for runs that begin then; said by this app, never taken from
 * the page.
 */
unasked_until?: number, 
/**
 * How the agent's questions are answered.
 */
questions: QuestionMode, 
/**
 * Seconds an approval may wait for its answer (1 to 3,600). The server then refuses the command.
 */
answer_timeout_s: number, 
/**
 * Seconds after which the server ends the whole run; `None` = never.
 */
run_timeout_s: number | null, 
/**
 * `@` paths in the text are read by the server.
 */
mentions: boolean, };

/**
 * One scenario of the practice server.
 */
export type ScenarioRow = { 
/**
 * Its id.
 */
id: string, 
/**
 * Its title, in its own language.
 */
title: string, 
/**
 * One sentence on what it shows.
 */
summary: string, };

/**
 * What an "always" covers. The page says each in words, before it is given.
 */
export type Scope = { "kind": "command_text_until_server_ends" } | { "kind": "tool_in_session", 
/**
 * The tool's name.
 */
tool: string, } | { "kind": "words", 
/**
 * The words.
 */
words: string, };

/**
 * A secret option's value on its way to the keyring.
 */
export type SecretSetting = { 
/**
 * The option's name.
 */
name: string, 
/**
 * Its value as pasted.
 */
value: string, };

/**
 * One command of a chain or pipeline, in the order in which it stands.
 */
export type Segment = { 
/**
 * What joins it to the one before: `|`, `&&`, `||`, `;`, `&`, `$(` for one inside another; empty for the first.
 */
joined_by: string, 
/**
 * Its text, as it stands.
 */
text: string, };

/**
 * Arguments of `send_message`.
 */
export type SendMessage = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * The text.
 */
text: string, 
/**
 * Images that go with it, where the server takes them.
 */
images: Array<SentImage>, };

/**
 * An image that goes with a message.
 */
export type SentImage = { 
/**
 * `image/png`, `image/jpeg`, `image/gif` or `image/webp`; `text/uri-list` for an image that lies elsewhere.
 */
media_type: string, 
/**
 * Its bytes, as base64; for an image that lies elsewhere, its https address.
 */
data: string, };

/**
 * A server as the page shows it. Holds no token.
 */
export type Server = { 
/**
 * Its id.
 */
id: ServerId, 
/**
 * The person's name for it.
 */
name: string, 
/**
 * Where it listens, without a trailing slash.
 */
base_url: string, 
/**
 * The protocol's id: `managed`, `runs`, `turns`, or one that joined later.
 */
protocol: string, 
/**
 * How it is spoken to.
 */
options: ServerOptions, 
/**
 * What is known of its token.
 */
token: TokenState, 
/**
 * The person paused it: no connection is made.
 */
paused: boolean, 
/**
 * Whether this is the built-in practice server.
 */
practice: boolean, 
/**
 * What the last contact showed.
 */
state: ServerState, 
/**
 * What this server can do; the page draws no button for what it cannot.
 */
capabilities: Capabilities, 
/**
 * Things the person should know about this server.
 */
warnings: Array<ServerWarning>, 
/**
 * What it says of itself.
 */
facts: ServerFacts, 
/**
 * When it last answered.
 */
last_seen_at: number | null, };

/**
 * What a person entered for a server that is not saved yet. The token goes in, never out.
 */
export type ServerDraft = { 
/**
 * The person's name for it; empty = made from the host.
 */
name: string, 
/**
 * The address as typed.
 */
base_url: string, 
/**
 * The token as pasted (trimmed here); empty = none.
 */
token: string, 
/**
 * The protocol, where the person chose it; `None` = found by probing.
 */
protocol: string | null, 
/**
 * Advanced options.
 */
options: ServerOptions, 
/**
 * Keep the token in memory only, chosen explicitly where there is no keyring.
 */
session_only: boolean, };

/**
 * What a server says of itself. Each missing part was not said.
 */
export type ServerFacts = { 
/**
 * Its version.
 */
version: string | null, 
/**
 * The folder its agent works in.
 */
workspace: string | null, 
/**
 * How it treats the agent's commands, in its own word.
 */
permission: string | null, 
/**
 * The words it takes for that.
 */
permissions: Array<string>, 
/**
 * The word under which commands are asked about; `None` where there is no such level.
 */
asking_permission: string | null, 
/**
 * The word under which all commands are refused; `None` where there is no such level.
 */
refusing_permission?: string, 
/**
 * The model in use, by name.
 */
model: string | null, 
/**
 * The models it has.
 */
models: Array<ModelChoice>, 
/**
 * No model is set up: nothing can run.
 */
no_model: boolean, 
/**
 * How hard the model thinks, in the server's word.
 */
effort: string | null, 
/**
 * The words it takes for that.
 */
efforts: Array<string>, };

/**
 * A server's own id in this app: random, never reused; also the name of its token in the keyring.
 */
export type ServerId = string;

/**
 * How a server is spoken to. Kept in the database; never holds a token.
 */
export type ServerOptions = { 
/**
 * The protocol's dialect, as the probe found it or the person chose it (managed: `qoder`, `claude`).
 */
dialect: string | null, 
/**
 * Sends what the oldest servers of the protocol want (managed: `after_id`, `delta_flush_interval_ms`). Changes only what is sent.
 */
seed_compat: boolean, 
/**
 * Milliseconds between text deltas that `seed_compat` asks for. `None` = 50.
 */
delta_flush_interval_ms: number | null, 
/**
 * How the token is sent. `None` = as the dialect says.
 */
auth: AuthStyle | null, 
/**
 * Sent with every request. Names that carry secrets (authorization, x-api-key, cookie) are refused.
 */
headers: Array<Header>, 
/**
 * The person agreed to plain http to a host that is not this computer.
 */
insecure_accepted: boolean, 
/**
 * The cap on one line or event of this server's streams, in bytes. `None` = 64 MiB.
 */
event_cap_bytes: number | null, 
/**
 * The cap on what is kept of this server's events on disk, in bytes. `None` = 8 GiB.
 */
disk_cap_bytes: number | null, 
/**
 * How turns are told, where the server offers several ways (turns: `delta`, `message`, `none`). `None` = the best.
 */
stream_mode?: string, 
/**
 * Other origins that the person agreed to send this server's token to (`https://host:port`).
 */
trusted_origins?: Array<string>, };

/**
 * Names a server.
 */
export type ServerRef = { 
/**
 * Which.
 */
server: ServerId, };

/**
 * One of a server's own settings.
 */
export type ServerSetting = { "kind": "permission", "to": string } | { "kind": "model", "to": string } | { "kind": "effort", "to": string };

/**
 * What the last contact with a server showed.
 */
export type ServerState = { "kind": "unknown" } | { "kind": "checking" } | { "kind": "online" } | { "kind": "unauthorized" } | { "kind": "forbidden", 
/**
 * What the server said.
 */
message: string, } | { "kind": "unreachable", 
/**
 * The layer that failed.
 */
layer: ProbeLayer, 
/**
 * The cause in words.
 */
detail: string, 
/**
 * When it is tried again.
 */
retry_at: number | null, } | { "kind": "paused" } | { "kind": "off" };

/**
 * Something the person should know about a server.
 */
export type ServerWarning = "unauthenticated" | "plain_http" | "token_not_stored" | "storage_full" | "commands_not_asked" | "commands_refused" | "no_model";

/**
 * A change inside a session.
 */
export type SessionChange = { "kind": "header", 
/**
 * All of it.
 */
header: SessionHeader, } | { "kind": "item", 
/**
 * The item.
 */
item: Item, } | { "kind": "append", 
/**
 * The item.
 */
item: string, 
/**
 * Which part of a message; `None` for a thought's text or a tool's input.
 */
part: number | null, 
/**
 * The text.
 */
text: string, } | { "kind": "item_gone", 
/**
 * Which.
 */
item: string, } | { "kind": "request", 
/**
 * The request.
 */
request: Request, } | { "kind": "request_gone", 
/**
 * Which.
 */
request: string, } | { "kind": "connection", 
/**
 * The row.
 */
row: ConnectionLogRow, } | { "kind": "decision", 
/**
 * The row.
 */
row: LedgerRow, } | { "kind": "reset" };

/**
 * Everything above the transcript.
 */
export type SessionHeader = { 
/**
 * The row, as in lists.
 */
row: SessionRow, 
/**
 * The agent's name, where known.
 */
agent: string | null, 
/**
 * The state of its stream.
 */
connection: ConnectionState, 
/**
 * The last cursor, for people who look closely.
 */
cursor: string | null, 
/**
 * Why nothing can be sent now, where that is so.
 */
closed: ClosedReason | null, 
/**
 * A stop that was asked for and where it stands.
 */
stop: StopState, 
/**
 * Older history is still being fetched.
 */
loading_history: boolean, 
/**
 * The current or last turn.
 */
turn: Turn | null, 
/**
 * Usage of the whole session, where the server says it.
 */
usage: Usage, 
/**
 * Messages that wait here until the turn ends.
 */
queued: Array<QueuedMessage>, 
/**
 * Goals set for this session.
 */
goals: Array<Goal>, 
/**
 * Its sub-agents.
 */
threads: Array<Thread>, 
/**
 * A run that ended early and can be taken up again, where the server says so.
 */
resumable: Resumable | null, 
/**
 * Another client drives the run that goes on: its events cannot be followed, only what waits can be answered.
 */
foreign_run: boolean, 
/**
 * How full the model's context is, where the server says it.
 */
context: ContextMeter | null, 
/**
 * How the next run is asked for. `None` where the server takes no such options.
 */
run_options: RunOptions | null, 
/**
 * The options of the run that goes on; `None` where none goes on, or they are not known.
 */
running_options: RunOptions | null, 
/**
 * How it is set up, where the server takes such a thing and has told it.
 */
setup?: SessionSetup, 
/**
 * What its agent lets it choose, where that is known: what a changed setup can be made of.
 */
offer?: AgentOffer, 
/**
 * The server's history may leave things out: older parts may be summarised or missing.
 */
incomplete_history?: boolean, };

/**
 * A session's number in this app's record. The server's own id is [`SessionRow::remote_id`].
 */
export type SessionId = number;

/**
 * Names a session.
 */
export type SessionRef = { 
/**
 * Which.
 */
session: SessionId, };

/**
 * A session's row in lists.
 */
export type SessionRow = { 
/**
 * Its number here.
 */
id: SessionId, 
/**
 * Its server.
 */
server: ServerId, 
/**
 * The server's id for it, opaque.
 */
remote_id: string, 
/**
 * Its title; `None` where it has none yet.
 */
title: string | null, 
/**
 * What it does.
 */
state: SessionState, 
/**
 * How many requests wait for the person.
 */
waiting: number, 
/**
 * The kind of the oldest waiting request.
 */
waiting_kind: RequestKind | null, 
/**
 * What it was last seen doing, for one short line.
 */
activity: Activity | null, 
/**
 * When its last event came.
 */
last_event_at: number | null, 
/**
 * When it was created, as the server says.
 */
created_at: number | null, 
/**
 * Archived at the server: readable, takes nothing more.
 */
archived: boolean, 
/**
 * A live link to its stream exists or is being made.
 */
live: boolean, 
/**
 * Commands run unasked in it now (P-50). `None` = the person is asked, or everything is refused.
 */
unasked?: UnaskedMark, };

/**
 * How a session is set up. What the server does not name is off.
 */
export type SessionSetup = { 
/**
 * The server's tools that are on.
 */
tools: Array<ToolSetting>, 
/**
 * The agent's options. A secret's value never stands here.
 */
options: Array<OptionSetting>, 
/**
 * The tools of this app that the agent may call, by name.
 */
own_tools: Array<string>, };

/**
 * What a new session begins with.
 */
export type SessionStart = { 
/**
 * How it is set up; `None` = as the server has it.
 */
setup: SessionSetup | null, 
/**
 * Values of secret options: kept in the keyring for this server and agent.
 */
secrets: Array<SecretSetting>, 
/**
 * The system prompt.
 */
system: string | null, 
/**
 * The conversation it goes on from.
 */
imported: Array<ImportedMessage>, };

/**
 * What a session does, as its server last said.
 */
export type SessionState = { "kind": "unknown" } | { "kind": "idle" } | { "kind": "running" } | { "kind": "waiting" } | { "kind": "rescheduling" } | { "kind": "stopping" } | { "kind": "ended" } | { "kind": "other", 
/**
 * The word.
 */
word: string, };

/**
 * Arguments of `set_practice`.
 */
export type SetPractice = { 
/**
 * On or off.
 */
on: boolean, 
/**
 * The person agreed that switching it off stops what runs there.
 */
stop_runs?: boolean, };

/**
 * Arguments of `set_run_options`.
 */
export type SetRunOptions = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * The options.
 */
options: RunOptions, };

/**
 * Arguments of `set_session_setup`.
 */
export type SetSessionSetup = { 
/**
 * Which session.
 */
session: SessionId, 
/**
 * The whole setup as it is to be.
 */
setup: SessionSetup, 
/**
 * New values of secret options.
 */
secrets?: Array<SecretSetting>, };

/**
 * One session as it is now.
 */
export type Snapshot = { 
/**
 * The session.
 */
session: SessionId, 
/**
 * Patches with a higher revision apply to this.
 */
revision: number, 
/**
 * Everything above the transcript.
 */
header: SessionHeader, 
/**
 * The last page of items, in order.
 */
items: Array<Item>, 
/**
 * Whether older items can be asked for.
 */
has_older: boolean, 
/**
 * How many items there are in all.
 */
total_items: number, 
/**
 * Requests that wait, or were settled a moment ago.
 */
requests: Array<Request>, 
/**
 * The connection log's last rows.
 */
connection_log: Array<ConnectionLogRow>, 
/**
 * The last decisions of this session.
 */
decisions: Array<LedgerRow>, };

/**
 * One bar of the timeline.
 */
export type Span = { 
/**
 * Whose bar.
 */
kind: SpanKind, 
/**
 * Its lane's name: the tool's name; empty for the others.
 */
name: string, 
/**
 * Start.
 */
started_at: number, 
/**
 * End; `None` while it goes on.
 */
ended_at: number | null, };

/**
 * Whose bar of the timeline it is.
 */
export type SpanKind = "model" | "tool" | "you";

/**
 * Something about the start that the person must be told.
 */
export type StartNotice = { "kind": "database_set_aside", 
/**
 * Where the damaged file is now.
 */
path: string, } | { "kind": "plain_renderer" };

/**
 * Arguments of `start_scenario`.
 */
export type StartScenario = { 
/**
 * The scenario's id.
 */
scenario: string, };

/**
 * Where a message stands that was sent into a running turn.
 */
export type SteeringPhase = "taken" | "finished" | "interrupted";

/**
 * How a turn ended, from the server's word for it.
 */
export type StopReason = { "kind": "end_turn" } | { "kind": "requires_action" } | { "kind": "stopped" } | { "kind": "max_turns" } | { "kind": "max_tokens" } | { "kind": "budget" } | { "kind": "context_full" } | { "kind": "paused" } | { "kind": "interrupted" } | { "kind": "timed_out" } | { "kind": "refusal", 
/**
 * The server's explanation.
 */
explanation: string | null, } | { "kind": "error", 
/**
 * The server's words.
 */
message: string | null, } | { "kind": "other", 
/**
 * The word.
 */
word: string, };

/**
 * A stop, from the click to the server's word.
 */
export type StopState = { "kind": "none" } | { "kind": "requested", 
/**
 * When.
 */
at: number, } | { "kind": "confirmed", 
/**
 * When.
 */
at: number, } | { "kind": "let_go", 
/**
 * When.
 */
at: number, };

/**
 * Text, cut where it is long; the rest is read by handle.
 */
export type Text = { 
/**
 * The text, or its beginning.
 */
text: string, 
/**
 * Characters (Unicode scalar values) of the whole text.
 */
chars: number, 
/**
 * How to read the whole, where `text` is only the beginning.
 */
handle: string | null, };

/**
 * Colour theme.
 */
export type Theme = "system" | "light" | "dark";

/**
 * Something thought.
 */
export type Thought = { 
/**
 * The text; empty where the server shows none.
 */
text: Text, 
/**
 * Still thinking.
 */
active: boolean, 
/**
 * How long it took, where known.
 */
took_ms: number | null, };

/**
 * A sub-agent of a session.
 */
export type Thread = { 
/**
 * The server's id.
 */
id: string, 
/**
 * The agent's name.
 */
name: string | null, 
/**
 * What it does.
 */
state: SessionState, };

/**
 * What is known of a server's token. The token itself never leaves Rust.
 */
export type TokenState = "none" | "keyring" | "session_only" | "missing";

/**
 * A tool call with its result. Upserted by id, never appended twice.
 */
export type ToolCall = { 
/**
 * The tool's name, verbatim.
 */
name: string, 
/**
 * Where it comes from, when not built in: the MCP server's name, or `client` for a tool of ours.
 */
source: string | null, 
/**
 * The arguments as text made in Rust (JSON with its numbers and strings exactly as received, indented).
 */
input: Text, 
/**
 * The command, where the tool runs one; shown instead of the JSON.
 */
command: string | null, 
/**
 * One line that says what it acts on (path, command, query, address).
 */
subject: string | null, 
/**
 * Where the call stands.
 */
state: ToolState, 
/**
 * The result.
 */
output: Array<Part>, 
/**
 * When it began and ended, where known.
 */
started_at: number | null, 
/**
 * See `started_at`.
 */
ended_at: number | null, 
/**
 * The request that asks about this call, where there is one.
 */
request: string | null, };

/**
 * One of the server's tools that is on.
 */
export type ToolSetting = { 
/**
 * Its name.
 */
name: string, 
/**
 * Every call of it runs unasked, whatever its arguments.
 */
trusted: boolean, };

/**
 * Where a tool call stands.
 */
export type ToolState = { "kind": "announced" } | { "kind": "waiting" } | { "kind": "running" } | { "kind": "done" } | { "kind": "failed" } | { "kind": "denied", 
/**
 * The reason given.
 */
reason: string | null, } | { "kind": "cancelled" } | { "kind": "skipped" };

/**
 * One turn, for the inspector.
 */
export type Turn = { 
/**
 * Its id: the server's, or one counted here.
 */
id: string, 
/**
 * When it began.
 */
started_at: number | null, 
/**
 * When it ended; `None` while it runs or waits.
 */
ended_at: number | null, 
/**
 * How it ended.
 */
stop: StopReason | null, 
/**
 * Its usage.
 */
usage: Usage, 
/**
 * What ran when, for the timeline.
 */
spans: Array<Span>, };

/**
 * That commands run unasked in a session, and where that holds: said for as long as it does, whichever session is open.
 */
export type UnaskedMark = { 
/**
 * How many commands are listed that run unasked while all others are refused; `None` = every command.
 */
listed: number | null, 
/**
 * It holds for the run that goes on; else for runs that begin.
 */
running: boolean, 
/**
 * When it lapses for runs that begin; `None` where only the run's end ends it.
 */
until: number | null, };

/**
 * Something we do not know.
 */
export type Unknown = { 
/**
 * Its type, verbatim; empty where it has none.
 */
what: string, 
/**
 * The raw event.
 */
raw: Text, };

/**
 * What was used. A missing number was not said by the server.
 */
export type Usage = { 
/**
 * Tokens in.
 */
input_tokens: number | null, 
/**
 * Tokens out.
 */
output_tokens: number | null, 
/**
 * Of those in, how many came from a cache.
 */
cache_read_tokens: number | null, 
/**
 * Tokens written to a cache.
 */
cache_write_tokens: number | null, 
/**
 * Of those out, how many were reasoning.
 */
reasoning_tokens: number | null, 
/**
 * Requests to the model.
 */
requests: number | null, 
/**
 * Milliseconds the model took.
 */
model_ms: number | null, 
/**
 * Credits, as the server's decimal text.
 */
credits: string | null, 
/**
 * Money, as text with its currency.
 */
cost: string | null, };

/**
 * Where a message goes that is sent while a turn runs.
 */
export type WhileRunning = "queue_here" | "queue_at_server" | "steer";

/** Every command: its arguments and its result. */
export interface Commands {
  /** Everything the shared screens show; also (re)starts this window's numbering. */
  overview: { args: NoArgs; result: Overview };
  /** Saves preferences. */
  set_preferences: { args: Preferences; result: null };
  /** Tries an address without saving or changing anything at the server. */
  probe_server: { args: ServerDraft; result: ProbeReport };
  /** Saves a server (and its token in the keyring) and connects. */
  add_server: { args: ServerDraft; result: Server };
  /** Changes a server's name, address, protocol or options. The token stays. */
  edit_server: { args: EditServer; result: Server };
  /** Replaces a server's token. */
  replace_token: { args: ReplaceToken; result: Server };
  /** Pauses or resumes a server. */
  pause_server: { args: PauseServer; result: Server };
  /** Puts the servers in this order. */
  reorder_servers: { args: ReorderServers; result: null };
  /** Removes a server and its token; its history stays. */
  remove_server: { args: RemoveServer; result: null };
  /** Reads a server's session list again, now. */
  refresh_server: { args: ServerRef; result: null };
  /** Switches the practice server on or off. */
  set_practice: { args: SetPractice; result: null };
  /** Starts one of the practice server's scenarios in a new session. */
  start_scenario: { args: StartScenario; result: SessionRef };
  /** The practice server's scenarios. */
  list_scenarios: { args: NoArgs; result: Array<ScenarioRow> };
  /** What the new-session form offers for a server. */
  new_session_options: { args: ServerRef; result: NewSessionOptions };
  /** Creates an environment at the server. */
  create_environment: { args: CreateEnvironment; result: NewSessionOptions };
  /** Creates a session. */
  create_session: { args: CreateSession; result: SessionRef };
  /** Opens a session in this window: patches for it follow the snapshot. */
  open_session: { args: SessionRef; result: Snapshot };
  /** This window no longer shows the session. */
  close_session: { args: SessionRef; result: null };
  /** Older items, for scrolling up. */
  read_items: { args: ReadItems; result: ItemPage };
  /** A part of a big payload. */
  read_payload: { args: ReadPayload; result: PayloadChunk };
  /** Sends a message, or queues it as the server's way is. */
  send_message: { args: SendMessage; result: null };
  /** Sets how this session's next runs are asked for. */
  set_run_options: { args: SetRunOptions; result: null };
  /** Changes how a session is set up: at once, or with what is sent next, as the server's way is. */
  set_session_setup: { args: SetSessionSetup; result: null };
  /** Takes up a run that ended early. */
  resume_run: { args: SessionRef; result: null };
  /** Copies a session and opens the copy. */
  fork_session: { args: SessionRef; result: SessionRef };
  /** Compacts the session's context, and says what that did. */
  compact_session: { args: SessionRef; result: Compaction };
  /** Lets the model find a title. */
  name_session: { args: SessionRef; result: null };
  /** Asks something beside the transcript; the answer is kept nowhere. */
  ask_aside: { args: AskAside; result: AsideAnswer };
  /** Reads how full the context is. */
  session_context: { args: SessionRef; result: ContextMeter | null };
  /** Completions of an `@` mention. */
  complete_mention: { args: CompleteMention; result: Array<Mention> };
  /** Saves a session, as the server writes it, as a page of its own. */
  export_session: { args: SessionRef; result: ExportedFile };
  /** Changes one of the server's own settings. */
  change_server_setting: { args: ChangeServerSetting; result: null };
  /** Drops, edits back or releases a queued message. */
  queued_message: { args: QueuedMessageAction; result: null };
  /** Asks the server to stop the turn. */
  stop_session: { args: SessionRef; result: null };
  /** Tries the connection again now. */
  retry_now: { args: SessionRef; result: null };
  /** Renames a session. */
  rename_session: { args: RenameSession; result: null };
  /** Archives a session at the server. */
  archive_session: { args: SessionRef; result: null };
  /** Deletes a session at the server. Its history here stays. */
  delete_session: { args: SessionRef; result: null };
  /** Sets a goal. */
  define_outcome: { args: DefineOutcome; result: null };
  /** Answers a request. */
  decide: { args: Decision; result: Request };
  /** Every request that waits, of every server. */
  waiting_requests: { args: NoArgs; result: Array<Request> };
  /** History and search. */
  search_history: { args: HistoryQuery; result: HistoryPage };
  /** The connection log of a session. */
  connection_log: { args: LogQuery; result: Array<ConnectionLogRow> };
  /** The decisions of a session. */
  decisions: { args: LogQuery; result: Array<LedgerRow> };
  /** Opens a link of the transcript in the system's browser (http, https, mailto only). */
  open_link: { args: OpenLink; result: null };
  /** Copies text through the system clipboard. */
  copy_text: { args: CopyText; result: null };
  /** The page reports an error of its own. */
  report_page_error: { args: PageError; result: null };
  /** The page has drawn its first interactive screen. */
  page_ready: { args: NoArgs; result: null };
  /** What closing the window means now, and doing it after the person's answer. */
  close_window: { args: CloseWindow; result: null };
}

/** The names of all commands. */
export const commandNames = [
  'overview',
  'set_preferences',
  'probe_server',
  'add_server',
  'edit_server',
  'replace_token',
  'pause_server',
  'reorder_servers',
  'remove_server',
  'refresh_server',
  'set_practice',
  'start_scenario',
  'list_scenarios',
  'new_session_options',
  'create_environment',
  'create_session',
  'open_session',
  'close_session',
  'read_items',
  'read_payload',
  'send_message',
  'set_run_options',
  'set_session_setup',
  'resume_run',
  'fork_session',
  'compact_session',
  'name_session',
  'ask_aside',
  'session_context',
  'complete_mention',
  'export_session',
  'change_server_setting',
  'queued_message',
  'stop_session',
  'retry_now',
  'rename_session',
  'archive_session',
  'delete_session',
  'define_outcome',
  'decide',
  'waiting_requests',
  'search_history',
  'connection_log',
  'decisions',
  'open_link',
  'copy_text',
  'report_page_error',
  'page_ready',
  'close_window',
] as const satisfies readonly (keyof Commands)[];
