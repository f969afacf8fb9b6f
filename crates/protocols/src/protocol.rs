//! What every protocol is to the engine.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use contract::{
    Millis,
    command::{SentImage, ServerSetting},
    error::ErrorCode,
    request::{Answer, ChoiceKind, RequestKind},
    server::{Capabilities, ServerFacts, ServerOptions},
    session::{Compaction, ContextMeter, Goal, Mention, NewSessionOptions, RunOptions, SessionState, Usage},
    setup::{ImportedMessage, SecretSetting, SessionSetup},
    wire::Cursor,
};
use url::Url;

use crate::{Ask, Refusal, SessionCodec};

/// Where a server is and how it is spoken to. Holds no token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The base address, without a trailing slash in its path.
    pub base: Url,
    /// Options as saved.
    pub options: ServerOptions,
}

/// A protocol before a server of it is known: how to recognise one, how to make a [`Protocol`] for one.
pub trait Family: Send + Sync {
    /// Its id, as saved with a server.
    fn id(&self) -> &'static str;

    /// Requests without side effects that tell whether a server speaks this protocol, in order. `options` may fix a dialect.
    fn probes(&self, base: &Url, options: &ServerOptions) -> Vec<Probe>;

    /// The protocol for this server.
    fn speak(&self, endpoint: Endpoint) -> Arc<dyn Protocol>;
}

/// One probing request.
pub struct Probe {
    /// The dialect it asks in, where the protocol has any.
    pub dialect: Option<&'static str>,
    /// The address to save when this probe is answered rightly.
    pub base: Url,
    /// The request, without a token.
    pub request: http::Request<Bytes>,
    /// Adds a token in this dialect's way.
    pub authorize: fn(&mut http::Request<Bytes>, &str),
    /// Reads the answer.
    pub read: fn(&http::Response<Bytes>) -> Recognition,
}

/// What an answer to a probe shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognition {
    /// It speaks this protocol and lets us in.
    Yes {
        /// Its version, where it says one.
        version: Option<String>,
    },
    /// It speaks this protocol; whether it lets us in is for a later probe of the same family to show.
    Speaks {
        /// Its version, where it says one.
        version: Option<String>,
    },
    /// It speaks this protocol, or may, and wants a (different) token.
    WantsToken(Refusal),
    /// It speaks this protocol but refuses or fails now.
    Refused(Refusal),
    /// It does not speak this protocol at this address.
    No,
}

/// How long silence may last before a stream counts as dead. Only streams that can be re-attached are ever cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Liveness {
    /// While a turn runs; `None` = for ever.
    pub running: Option<Duration>,
    /// While nothing runs; `None` = for ever.
    pub idle: Option<Duration>,
}

/// One server's protocol. Methods return `None` where the server cannot do it; [`Capabilities`] says the same to the page.
pub trait Protocol: Send + Sync {
    /// What this server can do.
    fn capabilities(&self) -> Capabilities;

    /// How long its streams may be silent.
    fn liveness(&self) -> Liveness;

    /// Adds the token to a request, marked as sensitive.
    fn authorize(&self, request: &mut http::Request<Bytes>, token: &str);

    /// A page of sessions, newest first.
    fn list_sessions(&self, page: Option<&str>) -> Option<Ask<Page<RemoteSession>>>;

    /// One session.
    fn read_session(&self, session: &str) -> Option<Ask<RemoteSession>>;

    /// What a new session can be given. Several requests, each adding its part.
    fn new_session_options(&self) -> Vec<Ask<NewSessionOptions>>;

    /// Creates an environment.
    fn create_environment(&self, name: &str) -> Option<Ask<()>>;

    /// Creates a session. `key` makes it safe to repeat where the server knows such keys.
    fn create_session(&self, new: &NewSession, key: &str) -> Option<Ask<RemoteSession>>;

    /// Renames a session.
    fn rename_session(&self, session: &str, title: &str) -> Option<Ask<()>>;

    /// Archives a session.
    fn archive_session(&self, session: &str) -> Option<Ask<()>>;

    /// Deletes a session.
    fn delete_session(&self, session: &str) -> Option<Ask<()>>;

    /// A page of the session's events, newest first.
    fn history(&self, session: &str, page: Option<&str>) -> Option<Ask<EventPage>>;

    /// The session's live stream, resuming after `cursor` where the server can. `None` for protocols whose streams
    /// are the answers to what is sent.
    fn stream(&self, session: &str, cursor: Option<&Cursor>) -> Option<http::Request<Bytes>>;

    /// Whether the stream can resume after a cursor. Where it cannot, every connect lists and merges.
    fn resumes(&self) -> bool;

    /// Sends something into a session. `key` makes it safe to repeat where the server knows such keys.
    fn send(&self, session: &str, what: &Outgoing, key: &str) -> Option<Ask<Sent>>;

    /// The same as a request whose answer is the stream of the turn it starts: never repeated, and closed by nobody
    /// before its end. Tried before [`Protocol::send`], and only while no turn runs. `None` where the session has a
    /// stream of its own, or this cannot start a turn.
    fn open_turn(&self, session: &str, what: &Outgoing) -> Option<http::Request<Bytes>> {
        let _ = (session, what);
        None
    }

    /// Why no turn began: reads an answer to [`Protocol::open_turn`] that is no stream.
    fn turn_refused(&self, answer: &http::Response<Bytes>) -> Refusal {
        Refusal {
            code: ErrorCode::ServerRefused,
            status: answer.status().as_u16(),
            message: format!("The server answered with status {}.", answer.status().as_u16()),
            request_id: None,
            detail: None,
        }
    }

    /// What must be asked right before anything that is meant for this session, where the server has one current
    /// session at a time ([`Capabilities::one_current`]). Gives the id of the session that is current then.
    fn approach(&self, session: &str) -> Option<Ask<String>> {
        let _ = session;
        None
    }

    /// Which session is current, for coming back to it after acting on another.
    fn current(&self) -> Option<Ask<Option<String>>> {
        None
    }

    /// What the server says of the session beside any stream: whether a run goes on, what waits, what can be taken up
    /// again. Each answer becomes one frame for the codec ([`contract::wire::Origin::Answer`]); one equal to the last
    /// of its name is dropped.
    fn checks(&self, session: &str) -> Vec<Ask<Checked>> {
        let _ = session;
        Vec::new()
    }

    /// How full the session's context is, as a frame like those of [`Protocol::checks`]: asked with them after a turn of
    /// ours has ended. `None` where nothing but events tells it.
    fn measure(&self, session: &str) -> Option<Ask<Checked>> {
        let _ = session;
        None
    }

    /// The whole history in one answer, where it comes so: its raw body, for the codec
    /// ([`contract::wire::Origin::History`]). [`Protocol::history`] is `None` then.
    fn whole_history(&self, session: &str) -> Option<Ask<String>> {
        let _ = session;
        None
    }

    /// The name of the frame that the answer to [`Protocol::open_turn`] becomes where it comes whole (JSON) and not as a
    /// stream. `None` = such an answer is no turn.
    fn whole_answer(&self) -> Option<&'static str> {
        None
    }

    /// Nothing but the history tells whether a turn that nobody listens to goes on: it is read again and again, with
    /// growing pauses, until the codec says that nothing runs.
    fn history_tells_the_end(&self) -> bool {
        false
    }

    /// A turn's stream may end, cleanly, before its last word: no drop then. The codec is given a frame called `closed`
    /// with no data ([`contract::wire::Origin::Answer`]): where requests stand open it waits for them, else the history
    /// tells how the turn ended.
    fn may_end_unsaid(&self) -> bool {
        false
    }

    /// What is wrong with a setup for this agent, in words, as far as it can be told here: asked before one is sent.
    fn amiss(&self, agent: &str, setup: &SessionSetup) -> Option<String> {
        let _ = (agent, setup);
        None
    }

    /// Changes how a session is set up, at once. `None` = it goes with what is sent next ([`Outgoing::Message`],
    /// [`Outgoing::Answers`]).
    fn change_setup(&self, session: &str, change: &SetupChange) -> Option<Ask<()>> {
        let _ = (session, change);
        None
    }

    /// What the server says of itself. Several requests, each adding its part to what is known.
    fn server_facts(&self) -> Vec<Ask<FactsPart>> {
        Vec::new()
    }

    /// Changes one of the server's own settings.
    fn change_setting(&self, setting: &ServerSetting) -> Option<Ask<()>> {
        let _ = setting;
        None
    }

    /// Does something to a session that is no part of its transcript.
    fn act(&self, session: &str, act: &Act) -> Option<Ask<Acted>> {
        let _ = (session, act);
        None
    }

    /// After a stop was accepted, what waits must be refused by us, or the turn never ends (runs-server §8). The
    /// stream is let go when it has said nothing more for this long. `None` where the server settles this itself.
    fn settle_on_stop(&self) -> Option<Duration> {
        None
    }

    /// A fresh codec for one session.
    fn codec(&self) -> Box<dyn SessionCodec>;
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// How to ask for the next page.
    pub next: Option<String>,
}

/// A session as its server describes it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RemoteSession {
    /// The server's id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// What it does.
    pub state: SessionState,
    /// The agent's name.
    pub agent: Option<String>,
    /// When it was created.
    pub created_at: Option<Millis>,
    /// When it last changed.
    pub updated_at: Option<Millis>,
    /// Archived.
    pub archived: bool,
    /// Usage so far.
    pub usage: Usage,
    /// Goals as the session object states them (final state of outcomes).
    pub goals: Vec<Goal>,
}

/// What a new session is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewSession {
    /// The agent's id.
    pub agent: Option<String>,
    /// The environment's id.
    pub environment: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// How it is set up.
    pub setup: Option<SetupChange>,
    /// The system prompt it begins with.
    pub system: Option<String>,
    /// The conversation it begins with.
    pub imported: Vec<ImportedMessage>,
}

/// A page of events, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    /// Each event's raw JSON, exactly as received.
    pub events: Vec<String>,
    /// How to ask for older ones.
    pub next: Option<String>,
}

/// Something to send into a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outgoing {
    /// A message of the person. While a turn runs it steers that, where the server can.
    Message {
        /// Its text.
        text: String,
        /// Images that go with it.
        images: Vec<SentImage>,
        /// How the run it starts is asked for, where the server takes such options.
        options: RunOptions,
        /// A changed setup that goes with it ([`Protocol::change_setup`]).
        setup: Option<SetupChange>,
    },
    /// The answers to all that a turn asked, where they leave together ([`Capabilities::answers_together`]).
    Answers {
        /// One for each request of the group.
        answers: Vec<GroupAnswer>,
        /// A changed setup that goes with them: what was allowed for good.
        setup: Option<SetupChange>,
    },
    /// Takes up a run that ended early.
    Resume {
        /// How it is asked for.
        options: RunOptions,
    },
    /// A decision on a request.
    Decision {
        /// The request's id.
        request: String,
        /// What was asked.
        kind: RequestKind,
        /// What was chosen.
        choice: ChoiceKind,
        /// The reason, for a denial.
        reason: Option<String>,
        /// The answers, for a question.
        answers: Vec<Answer>,
        /// The result, for a client tool.
        result: Option<String>,
    },
    /// Stop the running turn.
    Stop,
    /// A goal.
    Outcome {
        /// What is wanted.
        description: String,
        /// What it is judged by.
        rubric: String,
        /// How often it may be tried.
        max_iterations: Option<u32>,
    },
}

/// One answer of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupAnswer {
    /// The request's id.
    pub request: String,
    /// What was asked.
    pub kind: RequestKind,
    /// What was chosen.
    pub choice: ChoiceKind,
    /// The reason, for a denial.
    pub reason: Option<String>,
    /// The answers, for a question.
    pub answers: Vec<Answer>,
    /// The result, for a client tool or one of this app's own.
    pub result: Option<String>,
}

/// A setup as it is to be, with the values of the secrets that are to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupChange {
    /// The whole setup.
    pub setup: SessionSetup,
    /// New values of secret options.
    pub secrets: Vec<SecretSetting>,
}

/// An answer about a session that came beside its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The name of the frame it becomes.
    pub name: &'static str,
    /// Its raw body.
    pub body: String,
}

/// A part of what a server says of itself: changes what is known, given as it is so far.
pub type FactsPart = Box<dyn FnOnce(&mut ServerFacts) + Send>;

/// Something done to a session beside its transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Copies it.
    Fork,
    /// Compacts its context.
    Compact,
    /// Reads how full its context is.
    Context,
    /// Lets the model find a title.
    Name,
    /// Asks a question that is not kept.
    AskAside {
        /// The question.
        question: String,
    },
    /// Completes a mention.
    Mentions {
        /// What stands behind the `@`.
        query: String,
    },
    /// Writes it as a page of its own.
    ExportPage,
}

/// What an [`Act`] gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Acted {
    /// Done; nothing to tell.
    Done,
    /// What compacting did; how full the context is before and after is asked by itself.
    Compacted(Compaction),
    /// The id of the copy.
    Forked {
        /// The server's id.
        id: String,
    },
    /// The session, renamed.
    Renamed {
        /// The new title.
        title: Option<String>,
    },
    /// How full the context is; `None` = the server cannot tell.
    Context(Option<ContextMeter>),
    /// The answer to a question.
    Answer(String),
    /// Completions.
    Mentions(Vec<Mention>),
    /// A page, HTML.
    Page(String),
}

/// What the server made of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sent {
    /// The accepted events' raw JSON with the ids the server gave them; the stream will echo the same ids.
    pub echoes: Vec<String>,
    /// It came too late: what was answered, steered or stopped was over already. Quietly settled, never an error.
    pub too_late: bool,
}
