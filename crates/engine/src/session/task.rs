//! The task of one session.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use contract::{
    Millis,
    connection::{ConnectionLogRow, ConnectionState},
    error::AppError,
    item::ItemId,
    session::{ClosedReason, RunOptions, SessionId, SessionRow, SessionState},
    setup::SessionSetup,
    wire::Cursor,
};
use store::{OutboxMessage, SessionRecord, StoreError};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    beside::{Beside, Look},
    deliver::InFlight,
    handle::{Command, Reply, SessionHandle},
    history::History,
    reading::HistoryNews,
    replay::Fold,
    stream::Stream,
    turned_away::TurnedAway,
};
use crate::{
    feed::WindowFeed,
    hub::Hub,
    kept::Kept,
    server::link::{AskError, ServerLink},
};

/// Commands that may wait for the task. When full, callers wait.
const MAILBOX: usize = 256;

/// What a session's task starts with.
pub struct Start {
    /// Its number.
    pub id: SessionId,
    /// What is kept of it.
    pub record: SessionRecord,
    /// The server's name.
    pub server_name: String,
    /// What everything shares.
    pub hub: Arc<Hub>,
    /// The way to its server; `None` = paused, off or removed.
    pub link: Option<Arc<ServerLink>>,
    /// The protocol's codec for it.
    pub codec: Box<dyn Fn() -> Box<dyn protocols::SessionCodec> + Send + Sync>,
    /// Ends the task.
    pub cancel: CancellationToken,
}

/// News from what the task has started.
pub(super) enum News {
    /// Of the history.
    History(HistoryNews),
    /// Of the session itself; `None` where it could not be had.
    Session(Option<Box<protocols::RemoteSession>>),
    /// How much is kept of the server is known now.
    Counted,
    /// A decision's answer.
    Delivered { request: String, result: Result<protocols::Sent, AskError> },
    /// A message's answer.
    Messaged { id: String, result: Result<protocols::Sent, AskError> },
    /// A look's answer.
    Looked { generation: u64, looked: Result<Look, AskError> },
    /// What the person allowed was carried out here.
    CarriedOut { request: String, result: String },
    /// A changed setup's answer.
    SetUp { setup: SessionSetup, result: Result<(), AskError>, reply: Reply<()> },
    /// A stop's answer.
    Stopped { result: Result<protocols::Sent, AskError>, reply: Reply<()> },
    /// A goal's answer.
    Outcome { result: Result<protocols::Sent, AskError>, reply: Reply<()> },
}

/// The task of one session.
pub struct SessionTask {
    pub(super) id: SessionId,
    pub(super) hub: Arc<Hub>,
    pub(super) link: Option<Arc<ServerLink>>,
    pub(super) record: SessionRecord,
    pub(super) saved_record: SessionRecord,
    pub(super) make_codec: Box<dyn Fn() -> Box<dyn protocols::SessionCodec> + Send + Sync>,
    pub(super) fold: Fold,
    pub(super) watchers: HashMap<String, WindowFeed>,
    pub(super) news: mpsc::Sender<News>,
    pub(super) stream: Stream,
    pub(super) history: History,
    pub(super) cursor: Option<Cursor>,
    /// The next live position.
    pub(super) position: i64,
    /// The least position in use.
    pub(super) lowest: i64,
    pub(super) log_seq: i64,
    pub(super) outbox: Vec<OutboxMessage>,
    pub(super) in_flight: HashMap<String, InFlight>,
    /// Messages whose answer was lost, and the first reading that can know whether they arrived.
    pub(super) uncertain: HashMap<String, u64>,
    /// What is asked beside the stream.
    pub(super) beside: Beside,
    /// Messages that the server took for the running turn, until the turn takes them in.
    pub(super) steered: HashSet<String>,
    /// The end of a stopped turn is waited for until then.
    pub(super) stop_by: Option<Instant>,
    /// A message that the server turned away, until it is known what runs there.
    pub(super) turned_away: Option<TurnedAway>,
    /// Items that the projections on disk do not hold as they are; one may stand here twice.
    pub(super) unsaved: Vec<ItemId>,
    pub(super) unsaved_gone: Vec<ItemId>,
    pub(super) save_all: bool,
    pub(super) save_at: Option<Instant>,
    /// When the oldest change came that the projections on disk do not hold.
    pub(super) unsaved_since: Option<Instant>,
    /// When a header was sent last, and when the next one is due.
    pub(super) header_sent: Option<Instant>,
    pub(super) header_at: Option<Instant>,
    pub(super) connection_rows: Vec<ConnectionLogRow>,
    pub(super) last_row: Option<SessionRow>,
    pub(super) fallback_at: Option<Instant>,
    pub(super) retry_at: Option<Instant>,
    pub(super) idle_since: Option<Instant>,
    /// How the next run is asked for.
    pub(super) run_options: RunOptions,
    pub(super) server_name: String,
    /// What is kept of its server.
    pub(super) kept: Arc<Kept>,
    pub(super) counting: bool,
}

impl SessionTask {
    /// Starts the task and gives its handle.
    #[must_use]
    pub fn spawn(start: Start) -> SessionHandle {
        let (sender, mailbox) = mpsc::channel(MAILBOX);
        let handle = SessionHandle::new(start.id, sender);
        let session = start.id;
        tokio::spawn(async move {
            if let Err(error) = Self::live(start, mailbox).await {
                tracing::error!(session_id = session.0, %error, "session task ended on a store failure");
            }
        });
        handle
    }

    async fn live(start: Start, mut mailbox: mpsc::Receiver<Command>) -> Result<(), StoreError> {
        let (news, mut newly) = mpsc::channel(64);
        let cancel = start.cancel.clone();
        let mut task = Self::load(start, news).await?;
        if task.beside.is_unsettled() {
            task.look();
        }
        let lived = task.work(&mut mailbox, &mut newly, &cancel).await;
        task.stream.close();
        if lived.is_err() {
            // The record failed: nothing more can be shown that is stored. The windows ask again, and are told.
            task.fail_visibly();
            return lived;
        }
        mailbox.close();
        if cancel.is_cancelled() {
            task.leave_turn().await?;
        }
        task.save().await
    }

    async fn work(
        &mut self,
        mailbox: &mut mpsc::Receiver<Command>,
        newly: &mut mpsc::Receiver<News>,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let task = self;
        task.publish(true).await?;
        let mut ended = false;
        while !ended {
            task.reconsider().await?;
            let wake = task.next_wake();
            tokio::select! {
                () = cancel.cancelled() => ended = true,
                command = mailbox.recv() => match command {
                    Some(Command::Retire) => ended = task.is_unused() && mailbox.is_empty(),
                    Some(command) => task.command(command).await?,
                    None => ended = true,
                },
                Some(news) = newly.recv() => task.take_news(news).await?,
                link = task.stream.next() => task.take_link(link).await?,
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => task.timers().await?,
            }
        }
        Ok(())
    }

    fn fail_visibly(&mut self) {
        self.stream.state = ConnectionState::Closed;
        self.hub.put_row(SessionRow { live: false, ..self.row() });
        for feed in self.watchers.values() {
            feed.push(self.id, vec![contract::patch::SessionChange::Reset]);
        }
    }

    /// Opens, keeps or lets go of the stream as things stand.
    async fn reconsider(&mut self) -> Result<(), StoreError> {
        // A window that was loaded anew never said that it shows this no longer.
        self.watchers.retain(|_, feed| !feed.is_closed());
        if self.wants_stream() {
            self.idle_since = None;
            if !self.stream.is_open() && self.knows_room() {
                if self.is_full() {
                    self.stop_for_room().await?;
                } else {
                    self.open_stream();
                    self.publish(true).await?;
                }
            }
        } else if self.stream.turn.is_some() {
            // Nobody here lets go of it before its end.
            self.idle_since = None;
        } else if self.stream.is_open() {
            if self.fold.reducer.closed.is_some_and(|closed| closed != ClosedReason::Archived) || self.link.is_none() {
                self.close_stream().await?;
            } else {
                self.idle_since.get_or_insert_with(Instant::now);
            }
        }
        // That a turn runs may come from the history, and then no word of a silent line ever follows.
        self.tell_activity();
        Ok(())
    }

    /// Whether somebody or something needs this session's standing stream.
    pub(super) fn wants_stream(&self) -> bool {
        !self.has_turn_streams() && self.is_needed()
    }

    /// Whether somebody or something needs this session's news.
    pub(super) fn is_needed(&self) -> bool {
        if self.link.is_none() || self.fold.reducer.closed.is_some() || self.stream.refused {
            return false;
        }
        let busy = match &self.fold.reducer.state {
            SessionState::Running | SessionState::Waiting | SessionState::Rescheduling | SessionState::Stopping => true,
            SessionState::Unknown | SessionState::Idle | SessionState::Ended | SessionState::Other { .. } => false,
        };
        busy || !self.watchers.is_empty() || !self.in_flight.is_empty() || !self.outbox.is_empty()
    }

    fn is_unused(&self) -> bool {
        !self.is_needed()
            && !self.stream.is_open()
            && !self.beside.is_unsettled()
            && !self.history.is_reading()
            && self.watchers.is_empty()
            && self.in_flight.is_empty()
    }

    pub(super) fn now(&self) -> Millis {
        self.hub.now()
    }
}

/// Answers a caller, who may have given up waiting.
pub(super) fn answer<T>(reply: Reply<T>, result: Result<T, AppError>) {
    let _ = reply.send(result);
}
