//! The task of one session.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use contract::{
    Millis,
    connection::{ConnectionLogRow, ConnectionState},
    error::{AppError, ErrorCode},
    item::ItemId,
    patch::{ItemPage, PayloadChunk, Snapshot},
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
    local::LocalRecord,
    reading::HistoryNews,
    reduce::Reducer,
    replay::Fold,
    stream::Stream,
    turned_away::TurnedAway,
};
use crate::{
    feed::WindowFeed,
    hub::Hub,
    kept::Kept,
    request::card::Owner,
    server::link::{AskError, ServerLink},
};

/// Commands that may wait for the task. When full, callers wait.
const MAILBOX: usize = 256;

/// Items of a snapshot's page.
pub const SNAPSHOT_ITEMS: usize = 300;

/// How long an idle stream that nobody looks at is kept.
const LINGER: Duration = Duration::from_secs(20);

/// How long a waiting session may stand without a card before a fallback card is made (P-18).
const FALLBACK_AFTER: Duration = Duration::from_secs(2);

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

    async fn load(start: Start, news: mpsc::Sender<News>) -> Result<Self, StoreError> {
        let Start { id, record, server_name, hub, link, codec, .. } = start;
        // Of a crash of the app, or of this session's task alone.
        let pending = hub.store.unsettled_decisions().await?.into_iter().filter(|left| left.session == id);
        let cursor = hub.store.cursor(id).await?;
        let bounds = hub.store.position_bounds(id).await?;
        let (lowest, highest) = bounds.unwrap_or((0, -1));
        let outbox = hub.store.outbox(Some(id)).await?;
        let kept = hub.kept.of(&record.server);
        let rows = hub.store.connection_log(id, 50).await?;
        let fold = Fold::new(codec(), Reducer::new(owner(id, &record, &server_name), HashMap::new()));
        let in_flight = pending.map(|left| (left.request.clone(), InFlight::after_crash(left))).collect();
        let record_was_read = record.synced_updated_at.is_some();
        let run_options = record.run_options.clone().unwrap_or_default();
        let mut task = Self {
            id,
            hub,
            link,
            make_codec: codec,
            fold,
            watchers: HashMap::new(),
            news,
            stream: Stream::default(),
            history: History::new(record_was_read),
            saved_record: record.clone(),
            record,
            cursor,
            position: highest + 1,
            lowest,
            log_seq: 0,
            outbox,
            in_flight,
            uncertain: HashMap::new(),
            beside: Beside::new(record_was_read),
            steered: HashSet::new(),
            stop_by: None,
            turned_away: None,
            unsaved: Vec::new(),
            unsaved_gone: Vec::new(),
            save_all: false,
            save_at: None,
            unsaved_since: None,
            header_sent: None,
            header_at: None,
            connection_rows: rows.into_iter().rev().collect(),
            last_row: None,
            fallback_at: None,
            retry_at: None,
            idle_since: None,
            run_options,
            server_name,
            kept,
            counting: false,
        };
        task.fold.reducer.requests.answers_tell = task.has_turn_streams();
        task.lapse_unasked().await?;
        task.replay(true).await?;
        task.take_up_answers();
        task.drop_arrived().await?;
        if task.has_turn_streams() {
            task.find_open_turn().await?;
        }
        if task.hub.store.projection(id).await?.is_some_and(|mark| mark.is_current()) {
            task.save_all = false;
        }
        Ok(task)
    }

    /// Makes everything again from the log.
    pub(super) async fn rebuild(&mut self) -> Result<(), StoreError> {
        self.replay(false).await
    }

    async fn replay(&mut self, first: bool) -> Result<(), StoreError> {
        let ours = self.our_decisions().await?;
        let reducer = Reducer::new(owner(self.id, &self.record, &self.server_name), ours);
        let mut fold = Fold::new((self.make_codec)(), reducer);
        self.log_seq = fold.replay(self.hub.store.frames(self.id)).await?;
        fold.reducer.requests.answers_tell = self.fold.reducer.requests.answers_tell;
        if !first {
            fold.reducer.stop = self.fold.reducer.stop;
        }
        // What replay asks for was asked for when the frames were new.
        let effects = fold.reducer.take_effects();
        fold.reducer.take_changes();
        let before = std::mem::replace(&mut self.fold, fold);
        self.carry_record();
        self.record_elsewhere(effects.elsewhere).await?;
        self.show_outbox(&before.reducer.transcript);
        self.fallback_at =
            (!self.fold.reducer.requests.unexplained().is_empty()).then(|| Instant::now() + FALLBACK_AFTER);
        self.save_all = true;
        self.save_at.get_or_insert_with(Instant::now);
        for feed in self.watchers.values() {
            feed.push(self.id, vec![contract::patch::SessionChange::Reset]);
        }
        Ok(())
    }

    /// What the record knows and the log may not say.
    fn carry_record(&mut self) {
        let reducer = &mut self.fold.reducer;
        reducer.title = reducer.title.take().or_else(|| self.record.title.clone());
        reducer.agent = reducer.agent.take().or_else(|| self.record.agent.clone());
        reducer.closed = reducer.closed.or(self.record.ended);
        if reducer.state == SessionState::Unknown {
            reducer.state = self.record.state.clone();
        }
        if self.record.archived {
            reducer.closed.get_or_insert(ClosedReason::Archived);
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let idle = self.idle_since.map(|since| since + LINGER);
        [self.save_at, self.header_at, self.fallback_at, self.retry_at, self.stream.hold_until, idle]
            .into_iter()
            .chain([self.beside.at, self.stop_by, self.expiry_due(), self.unasked_ends()])
            .flatten()
            .chain(self.in_flight.values().filter_map(|flight| flight.retry_at))
            .min()
    }

    async fn timers(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        if self.save_at.is_some_and(|at| at <= now) {
            self.save_some().await?;
        }
        if self.fallback_at.is_some_and(|at| at <= now) {
            self.fallback_at = None;
            self.fallbacks().await?;
        }
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            self.read_history();
        }
        self.retry_deliveries(now);
        self.send_gathered().await?;
        if self.stop_by.is_some_and(|at| at <= now) {
            self.stop_overdue().await?;
        }
        self.lapse_unasked().await?;
        self.look_at_expired();
        if self.beside.at.is_some_and(|at| at <= now) {
            self.look_again();
        }
        if self.stream.hold_until.is_some_and(|until| until <= now) {
            self.drain_held().await?;
        }
        if self.idle_since.is_some_and(|since| since + LINGER <= now) {
            self.idle_since = None;
            if !self.wants_stream() {
                self.close_stream().await?;
            }
        }
        self.publish(false).await
    }

    /// A waiting session with no card gets a fallback card, and is read again (P-18).
    async fn fallbacks(&mut self) -> Result<(), StoreError> {
        let made = self.fold.reducer.make_fallbacks(self.hub.now());
        if !made.is_empty() {
            tracing::warn!(
                session_id = self.id.0,
                requests = made.len(),
                "the server waits for what no event explained"
            );
            self.take_local(&LocalRecord::FallbackCards { requests: made }, None).await?;
            self.read_history();
        }
        Ok(())
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

    async fn command(&mut self, command: Command) -> Result<(), StoreError> {
        match command {
            Command::Open { window, feed, reply } => {
                feed.open(self.id);
                self.watchers.insert(window, feed);
                let snapshot = self.snapshot().await?;
                answer(reply, Ok(Box::new(snapshot)));
                if self.fold.reducer.closed == Some(ClosedReason::Archived) && !self.history.is_complete() {
                    self.read_history();
                }
                if !self.stream.is_open() {
                    self.beside.owe_history();
                    self.look();
                }
            }
            Command::Close { window } => {
                if let Some(feed) = self.watchers.remove(&window) {
                    feed.close_session(self.id);
                }
            }
            Command::Items { before, limit, reply } => {
                let (items, has_older) = self.fold.reducer.transcript.page(Some(&before), limit);
                answer(reply, Ok(ItemPage { items, has_older }));
            }
            Command::Payload { handle, from, limit, reply } => answer(reply, self.payload(&handle, from, limit)),
            Command::Message { text, images, reply } => self.compose(text, images, reply).await?,
            Command::Queued { id, release, reply } => self.queued(&id, release, reply).await?,
            Command::DeclineAndSend { act, reply } => self.decline_and_send(act, reply).await?,
            Command::Setup { setup, secrets, reply } => self.set_setup(setup, secrets, reply).await?,
            Command::Stop { reply } => self.stop(reply).await?,
            Command::Resume { reply } => self.resume(reply).await?,
            Command::RunOptions { options, reply } => self.set_run_options(options, reply).await?,
            Command::Look => {
                self.beside.owe_history();
                self.look();
            }
            Command::Context { context, reply } => {
                self.fold.reducer.run.context = Some(context.clone());
                self.fold.reducer.touch_header();
                answer(reply, Ok(self.context().unwrap_or(context)));
            }
            Command::ServerFacts => self.fold.reducer.touch_header(),
            Command::Outcome { outgoing, reply } => self.outcome(&outgoing, reply),
            Command::Decide { decision, reply } => self.decide(decision, reply).await?,
            Command::Waiting { reply } => {
                answer(reply, Ok(self.fold.reducer.requests.open().cloned().collect()));
            }
            // Obeyed by the loop, which alone can end the task.
            Command::Retire => {}
            Command::RetryNow => {
                self.stream.refused = false;
                self.stream.retry_now();
                self.look();
                if self.history.is_given_up() || self.retry_at.take().is_some() {
                    self.read_history();
                }
            }
            Command::Wake => {
                self.stream.wake();
                self.look();
            }
            Command::Listed { remote } => self.listed(&remote),
            Command::Relink { link, same_server } => self.relink(link, same_server).await?,
            Command::ServerRemoved => {
                self.relink(None, false).await?;
                self.fold.reducer.closed.get_or_insert(ClosedReason::ServerRemoved);
                self.hub.remove_row(self.id);
            }
            Command::Facts { title, archived, deleted } => {
                if let Some(title) = title {
                    self.fold.reducer.title = Some(title);
                }
                if archived {
                    self.record.archived = true;
                    self.fold.reducer.closed.get_or_insert(ClosedReason::Archived);
                }
                if deleted {
                    self.fold.reducer.end_session(ClosedReason::Deleted, self.hub.now());
                }
                self.fold.reducer.touch_header();
            }
        }
        self.publish(false).await
    }

    async fn take_news(&mut self, news: News) -> Result<(), StoreError> {
        match news {
            News::History(news) => self.take_history(news).await?,
            News::Session(remote) => self.take_session(remote.as_deref()).await?,
            News::Counted => {}
            News::Delivered { request, result } => self.delivered(&request, result).await?,
            News::Messaged { id, result } => self.messaged(&id, result).await?,
            News::Looked { generation, looked } => self.looked(generation, looked).await?,
            News::CarriedOut { request, result } => self.carried_out(&request, result).await?,
            News::SetUp { setup, result, reply } => self.setup_changed(setup, result, reply),
            News::Stopped { result, reply } => self.stopped(result, reply).await?,
            News::Outcome { result, reply } => match result {
                Ok(sent) => {
                    self.take_echoes(sent.echoes).await?;
                    answer(reply, Ok(()));
                }
                Err(failed) => answer(reply, Err(failed.error)),
            },
        }
        self.publish(false).await
    }

    /// The server's list says something of this session.
    fn listed(&mut self, remote: &protocols::RemoteSession) {
        let turn_streams = self.has_turn_streams();
        self.record.updated_at = remote.updated_at.or(self.record.updated_at);
        self.record.created_at = remote.created_at.or(self.record.created_at);
        let reducer = &mut self.fold.reducer;
        if remote.title.is_some() && reducer.title != remote.title {
            reducer.title.clone_from(&remote.title);
            reducer.touch_header();
        }
        if remote.agent.is_some() && reducer.agent != remote.agent {
            reducer.agent.clone_from(&remote.agent);
            reducer.touch_header();
        }
        if remote.archived && !self.record.archived {
            self.record.archived = true;
            reducer.closed.get_or_insert(ClosedReason::Archived);
            reducer.touch_header();
        }
        if remote.usage != contract::session::Usage::default() && reducer.turn.session_usage != remote.usage {
            reducer.turn.usage(remote.usage.clone(), contract::event::UsageScope::Session);
            reducer.touch_header();
        }
        let listed_ended = remote.state == SessionState::Ended && reducer.closed.is_none();
        if listed_ended {
            reducer.end_session(ClosedReason::Terminated, self.hub.now());
        }
        // Without a live stream, the list is the only news: read what happened, or watch what runs.
        let stale = self.record.synced_updated_at.is_none() || self.record.synced_updated_at < self.record.updated_at;
        if turn_streams {
            self.listed_beside(remote, stale);
            return;
        }
        if !self.stream.is_live() {
            if remote.state != SessionState::Unknown && remote.state != SessionState::Idle && !listed_ended {
                reducer.state = remote.state.clone();
                reducer.touch_header();
            }
            if stale {
                self.read_history();
            }
        }
    }

    async fn relink(&mut self, link: Option<Arc<ServerLink>>, same_server: bool) -> Result<(), StoreError> {
        let goes_on = same_server && link.is_some() && self.stream.turn.is_some();
        if !goes_on {
            self.close_stream().await?;
        }
        self.stream.refused = false;
        let was_reading = self.history.abandon();
        self.beside.abandon();
        if let Some(link) = &link {
            self.fold.reducer.closed.take_if(|closed| *closed == ClosedReason::ServerRemoved);
            self.server_name.clone_from(&link.name);
            self.fold.reducer.requests.rename_server(&link.name);
        }
        self.link = link;
        self.fold.reducer.requests.answers_tell = self.has_turn_streams();
        if !goes_on {
            self.stream.state = if self.link.is_some() { ConnectionState::Closed } else { ConnectionState::Paused };
        }
        self.fold.reducer.touch_header();
        if was_reading {
            self.read_history();
        }
        if self.has_turn_streams() {
            // Loaded without its server, it could not be told whether a turn of ours was left open.
            if !goes_on {
                self.find_open_turn().await?;
            }
            if self.is_needed() || self.beside.is_unsettled() {
                self.look();
            }
        }
        self.retry_deliveries_now();
        Ok(())
    }

    async fn snapshot(&mut self) -> Result<Snapshot, StoreError> {
        // What is queued for other windows must not be mixed with what this one is given whole.
        self.publish(false).await?;
        let (items, has_older) = self.fold.reducer.transcript.page(None, SNAPSHOT_ITEMS);
        Ok(Snapshot {
            session: self.id,
            revision: 0,
            header: self.header(),
            items,
            has_older,
            total_items: self.fold.reducer.transcript.len() as u64,
            requests: self.fold.reducer.requests.iter().cloned().collect(),
            connection_log: self.connection_rows.clone(),
            decisions: self.hub.store.decisions(Some(self.id), 50).await?,
        })
    }

    fn payload(&self, handle: &str, from: u64, limit: u64) -> Result<PayloadChunk, AppError> {
        let reducer = &self.fold.reducer;
        let whole =
            reducer.transcript.payload(handle).or_else(|| reducer.requests.payload(handle)).ok_or_else(|| {
                AppError::new(ErrorCode::NotFound, "This text is no longer here. Open the session again.")
            })?;
        let skip = usize::try_from(from).unwrap_or(usize::MAX);
        let take = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(PayloadChunk {
            text: whole.chars().skip(skip).take(take).collect(),
            from,
            chars: whole.chars().count() as u64,
            read_at: self.hub.now(),
        })
    }

    pub(super) fn now(&self) -> Millis {
        self.hub.now()
    }
}

fn owner(id: SessionId, record: &SessionRecord, server_name: &str) -> Owner {
    Owner {
        session: id,
        remote_session: record.remote_id.clone(),
        server: record.server.clone(),
        server_name: server_name.to_owned(),
    }
}

/// Answers a caller, who may have given up waiting.
pub(super) fn answer<T>(reply: Reply<T>, result: Result<T, AppError>) {
    let _ = reply.send(result);
}
