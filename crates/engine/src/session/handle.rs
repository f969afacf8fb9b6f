//! How others talk to a session's task.

use std::sync::Arc;

use contract::{
    command::{QueuedMessageAction, SentImage},
    error::AppError,
    patch::{ItemPage, PayloadChunk, Snapshot},
    request::{Decision, Request},
    session::{ContextMeter, RunOptions, SessionId},
    setup::SessionSetup,
};
use protocols::{Outgoing, RemoteSession};
use tokio::sync::{mpsc, oneshot};

use crate::{feed::WindowFeed, server::link::ServerLink};

/// Where an answer goes.
pub type Reply<T> = oneshot::Sender<Result<T, AppError>>;

/// What a session's task can be told.
pub enum Command {
    /// A window shows it from now on.
    Open {
        /// The window.
        window: String,
        /// Where its patches go.
        feed: WindowFeed,
        /// The session as it is.
        reply: Reply<Box<Snapshot>>,
    },
    /// A window shows it no longer.
    Close {
        /// The window.
        window: String,
    },
    /// Older items.
    Items {
        /// Before this item.
        before: String,
        /// At most so many.
        limit: usize,
        /// The page.
        reply: Reply<ItemPage>,
    },
    /// A part of a long text.
    Payload {
        /// Its handle.
        handle: String,
        /// First character.
        from: u64,
        /// At most so many characters.
        limit: u64,
        /// The part.
        reply: Reply<PayloadChunk>,
    },
    /// A message of the person.
    Message {
        /// Its text.
        text: String,
        /// Images that go with it.
        images: Vec<SentImage>,
        /// It is written down (sent or queued).
        reply: Reply<()>,
    },
    /// Forgets or releases a queued message.
    Queued {
        /// Which.
        id: String,
        /// Release rather than forget.
        release: bool,
        /// Done.
        reply: Reply<()>,
    },
    /// Declines all that waits, and sends a queued message when the turn has ended.
    DeclineAndSend {
        /// The message.
        act: QueuedMessageAction,
        /// Done.
        reply: Reply<()>,
    },
    /// Changes how the session is set up.
    Setup {
        /// The whole setup.
        setup: SessionSetup,
        /// The secret options whose values are new: they are in the keyring.
        secrets: Vec<String>,
        /// It is written down, or the server has it.
        reply: Reply<()>,
    },
    /// Stops the turn.
    Stop {
        /// The server was asked.
        reply: Reply<()>,
    },
    /// Takes up a run that ended early.
    Resume {
        /// The run has begun, or there is nothing to take up.
        reply: Reply<()>,
    },
    /// How the next runs are asked for.
    RunOptions {
        /// The options.
        options: RunOptions,
        /// They are written down.
        reply: Reply<()>,
    },
    /// Something was done to the session beside its transcript: what it made of that is read.
    Look,
    /// How full the context is, as the server said beside the stream.
    Context {
        /// The meter.
        context: ContextMeter,
        /// The answer: the same, with what is known beside it.
        reply: Reply<ContextMeter>,
    },
    /// What the server says of itself has changed in what a header shows.
    ServerFacts,
    /// Sends a goal.
    Outcome {
        /// The goal.
        outgoing: Outgoing,
        /// The server has it.
        reply: Reply<()>,
    },
    /// A decision of the person.
    Decide {
        /// The decision.
        decision: Decision,
        /// It is written down and on its way.
        reply: Reply<Request>,
    },
    /// The requests that wait.
    Waiting {
        /// All of them.
        reply: Reply<Vec<Request>>,
    },
    /// Try the connection again now.
    RetryNow,
    /// The computer woke up.
    Wake,
    /// The server's list says this of the session.
    Listed {
        /// The session as listed.
        remote: Box<RemoteSession>,
    },
    /// Speak to the server through this link from now on (edited, another token, paused or not).
    Relink {
        /// The link; `None` = the server is paused, off or removed.
        link: Option<Arc<ServerLink>>,
        /// It is the same server in another way (another token, name or option): what streams from it goes on.
        same_server: bool,
    },
    /// The server was removed here: only its history is kept.
    ServerRemoved,
    /// End, when nobody and nothing needs this task: the log has everything.
    Retire,
    /// A title or archived mark that we set ourselves.
    Facts {
        /// The title.
        title: Option<String>,
        /// Archived now.
        archived: bool,
        /// Deleted at the server now.
        deleted: bool,
    },
}

/// How others talk to a session's task.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    /// Its number.
    pub id: SessionId,
    sender: mpsc::Sender<Command>,
}

impl SessionHandle {
    /// A handle over the task's mailbox.
    #[must_use]
    pub fn new(id: SessionId, sender: mpsc::Sender<Command>) -> Self {
        Self { id, sender }
    }

    /// Whether the task has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Waits until the task has ended.
    pub async fn ended(&self) {
        self.sender.closed().await;
    }

    /// Tells the task something; waits while its mailbox is full.
    ///
    /// # Errors
    /// Gives the command back when the task has ended.
    pub async fn tell(&self, command: Command) -> Result<(), Box<Command>> {
        self.sender.send(command).await.map_err(|refused| Box::new(refused.0))
    }

    /// Tells the task something that may be lost when its mailbox is full, since it will be told again.
    ///
    /// Whether the task will hear of it.
    pub fn nudge(&self, command: Command) -> bool {
        self.sender.try_send(command).is_ok()
    }
}
