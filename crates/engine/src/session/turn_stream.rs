//! A stream that is the answer to what begins its turn: opened once, never repeated, and let go by nobody here before
//! its end (design: "Streams").
//!
//! What begins the turn is written down twice: in the outbox before the request leaves, and in the log when the server
//! has answered, before any frame of its answer. A request that was refused began nothing; one whose answer was lost
//! may have begun something, which the history tells ([`super::beside`]), never a second request.

use std::{
    mem,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use contract::{
    Millis,
    connection::{ConnectionCause, ConnectionLogKind, ConnectionLogRow, ConnectionState},
    error::{AppError, ErrorCode},
    item::MessageState,
    server::ServerState,
    session::RunOptions,
    setup::SessionSetup,
    wire::{Frame, Origin},
};
use futures_util::{FutureExt, future::BoxFuture};
use http::StatusCode;
use protocols::{Ask, Outgoing};
use sse::{
    client::{BodyError, ByteStream, Client, OpenError, Opener, SendError},
    connection::{Limits, Link},
};
use store::{OutboxMessage, OutboxState, StoreError};

use super::{
    handle::Reply,
    local::LocalRecord,
    stream::Ways,
    task::{SessionTask, answer},
};
use crate::server::{
    floor::Going,
    link::{AskError, ServerLink, unanswered},
};

/// Silence on such a stream cuts nothing: after this long, what the server says beside it is read.
const QUIET_AFTER: Duration = Duration::from_secs(30);

/// A server that does not begin its answer keeps the floor for so long: decisions on other sessions wait behind it.
const HEAD_KEEPS: Duration = Duration::from_secs(10);

/// The frame that tells the codec of a clean end before the last word.
const CLOSED: &str = "closed";

/// What begins a turn.
pub(super) enum Began {
    /// A message of the person.
    Message(Box<OutboxMessage>),
    /// A run is taken up again.
    Resume(Reply<()>),
    /// The answers to these requests.
    Answers(Vec<String>),
}

/// The stream of one turn.
pub(super) struct TurnStream {
    pub began: Option<Began>,
    options: RunOptions,
    /// The changed setup that went with it.
    setup: Option<SessionSetup>,
    /// When it left.
    left_at: Millis,
    /// Its terminal frame was read: whatever follows is no drop.
    pub over: bool,
    /// The server said that nothing runs which could be steered.
    pub takes_no_more: bool,
    not_opened: NotOpened,
}

impl TurnStream {
    /// Whether the server took what begins it.
    pub fn has_begun(&self) -> bool {
        self.began.is_none()
    }
}

/// Why a turn did not begin.
type NotOpened = Arc<Mutex<Option<AskError>>>;

/// Opens the stream of a turn while its session is the server's current one.
struct TurnOpener {
    link: Arc<ServerLink>,
    remote: String,
    /// What must be settled before, where anything must.
    first: Option<Arc<Ask<()>>>,
    not_opened: NotOpened,
}

impl TurnOpener {
    fn failed(&self, failed: AskError) {
        *self.not_opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed);
    }

    async fn send(&self, client: &Client, request: http::Request<Bytes>) -> Result<ByteStream, OpenError> {
        let opened = match self.link.protocol.whole_answer() {
            Some(name) => client.open_or_whole(request, name).await,
            None => client.open(request, None).await,
        };
        match &opened {
            Ok(_) => {}
            Err(OpenError::Refused(answer)) => self.refused(answer),
            Err(OpenError::NotAStream { status, start, .. }) => {
                let mut answer = http::Response::new(start.clone());
                *answer.status_mut() = *status;
                self.refused(&answer);
            }
            Err(OpenError::Send(error)) => self.failed(AskError {
                error: unanswered(error),
                uncertain: error.may_have_arrived(),
                layer: Some(error.layer()),
            }),
        }
        opened
    }

    fn refused(&self, answer: &http::Response<Bytes>) {
        let error = AppError::from(self.link.protocol.turn_refused(answer));
        if error.code == ErrorCode::Unauthorized {
            self.link.state(ServerState::Unauthorized);
        }
        // A gateway's failure, or a success that is no stream, says nothing about what the server did.
        let uncertain = error.code == ErrorCode::ServerFailed || answer.status().is_success();
        self.failed(AskError { error, uncertain, layer: None });
    }
}

impl Opener for TurnOpener {
    fn open(
        &self,
        request: http::Request<Bytes>,
        _answer: Option<Duration>,
    ) -> BoxFuture<'static, Result<ByteStream, OpenError>> {
        let opener = Self {
            link: Arc::clone(&self.link),
            remote: self.remote.clone(),
            first: self.first.clone(),
            not_opened: Arc::clone(&self.not_opened),
        };
        async move {
            if let Some(first) = &opener.first
                && let Err(failed) = opener.link.ask_shared(first).await
            {
                let failed = failed.nothing_left();
                let told = as_answer(&failed);
                opener.failed(failed);
                return Err(told);
            }
            let floor = match opener.link.stand(&opener.remote, Going::There).await {
                Ok(floor) => floor,
                Err(failed) => {
                    let told = as_answer(&failed);
                    opener.failed(failed);
                    return Err(told);
                }
            };
            let mut sent = pin!(opener.send(&opener.link.client, request));
            let early = tokio::select! {
                opened = &mut sent => Some(opened),
                () = tokio::time::sleep(HEAD_KEEPS) => None,
            };
            if let Some(floor) = floor {
                // The answer's frames wait for nobody.
                tokio::spawn(floor.leave());
            }
            match early {
                Some(opened) => opened,
                None => sent.await,
            }
        }
        .boxed()
    }
}

/// A way to the session that was refused, as the connection's log tells it.
fn as_answer(failed: &AskError) -> OpenError {
    let words = failed.error.message.clone();
    let status = match failed.error.code {
        ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden => StatusCode::FORBIDDEN,
        ErrorCode::GoneAtServer => StatusCode::NOT_FOUND,
        ErrorCode::Busy | ErrorCode::Conflict => StatusCode::CONFLICT,
        _ => return OpenError::Send(SendError::Body(BodyError::new(words))),
    };
    let mut answer = http::Response::new(Bytes::from(words));
    *answer.status_mut() = status;
    OpenError::Refused(Box::new(answer))
}

impl SessionTask {
    /// Sends what begins a turn. Gives it back where this server has no such turns.
    pub(super) fn open_turn(&mut self, outgoing: &Outgoing, began: Began) -> Result<(), Began> {
        self.open_turn_after(outgoing, began, None)
    }

    /// The same, once this is settled.
    pub(super) fn open_turn_after(
        &mut self,
        outgoing: &Outgoing,
        began: Began,
        first: Option<Ask<()>>,
    ) -> Result<(), Began> {
        let Some(link) = self.link.clone() else { return Err(began) };
        let Some(request) = link.protocol.open_turn(&self.record.remote_id, outgoing) else { return Err(began) };
        let not_opened = NotOpened::default();
        let opener = TurnOpener {
            link: Arc::clone(&link),
            remote: self.record.remote_id.clone(),
            first: first.map(Arc::new),
            not_opened: Arc::clone(&not_opened),
        };
        let setup = match outgoing {
            Outgoing::Message { setup, .. } | Outgoing::Answers { setup, .. } => {
                setup.as_ref().map(|change| change.setup.clone())
            }
            Outgoing::Decision { .. } | Outgoing::Resume { .. } | Outgoing::Stop | Outgoing::Outcome { .. } => None,
        };
        let options = match outgoing {
            Outgoing::Message { options, .. } | Outgoing::Resume { options } => options.clone(),
            Outgoing::Decision { .. } | Outgoing::Answers { .. } | Outgoing::Stop | Outgoing::Outcome { .. } => {
                RunOptions::default()
            }
        };
        let silence = link.protocol.liveness().running.or(Some(QUIET_AFTER));
        let ways = Ways {
            request: Arc::new({
                let link = Arc::clone(&link);
                move |_| {
                    let mut request = request.clone();
                    link.authorize(&mut request);
                    request
                }
            }),
            opener: Arc::new(opener),
            reattach: false,
            limits: Limits { event_cap: link.event_cap, answer: None, silence },
        };
        self.connect(ways);
        let left_at = self.now();
        if link.protocol.whole_answer().is_some() {
            self.fold.reducer.awaited(left_at);
        }
        self.stream.turn = Some(TurnStream {
            began: Some(began),
            options,
            setup,
            left_at,
            over: false,
            takes_no_more: false,
            not_opened,
        });
        Ok(())
    }

    /// Takes one word of a turn's connection.
    pub(super) async fn take_turn_link(&mut self, link: Option<Link>) -> Result<(), StoreError> {
        match link {
            Some(Link::Opened) => self.turn_opened().await?,
            Some(Link::State(state)) => self.turn_state(state),
            Some(Link::Log(row)) => self.log_turn(row).await?,
            Some(Link::Batch { pieces, received_at }) => self.take_reads(pieces, received_at).await?,
            Some(Link::Quiet { .. }) => self.look(),
            // Read by the opener, which knows the protocol's words.
            Some(Link::Refused(_)) => {}
            Some(Link::Closed { cause, .. }) => {
                let over = self.stream.turn.as_ref().is_some_and(|turn| turn.over);
                match cause.filter(|_| !over) {
                    Some(ConnectionCause::Closed) if self.may_end_unsaid() => self.turn_ended_unsaid().await?,
                    Some(cause) => self.turn_dropped(cause).await?,
                    None => {}
                }
            }
            None => self.turn_stream_ended().await?,
        }
        Ok(())
    }

    /// The server answers: the turn has begun, and the log says so before any of its frames.
    async fn turn_opened(&mut self) -> Result<(), StoreError> {
        let Some(turn) = self.stream.turn.as_mut() else { return Ok(()) };
        let (began, options, setup) = (turn.began.take(), turn.options.clone(), turn.setup.take());
        let left_at = turn.left_at;
        self.fold.reducer.awaited_no_more();
        self.stream.turn_bounds += 1;
        self.beside.forget();
        match began {
            Some(Began::Message(message)) => {
                let OutboxMessage { id, body, images, key, .. } = *message;
                let message = Some(format!("turn-{key}"));
                let record = LocalRecord::TurnOpened { message, text: body, images, options, setup };
                // Where the whole turn is one answer, it has run since this left.
                self.take_local_of(&record, left_at).await?;
                self.outbox.retain(|kept| kept.id != id);
                self.hub.store.remove_outbox(self.id, id.clone()).await?;
                self.fold.reducer.drop_local_message(&id);
            }
            Some(Began::Resume(reply)) => {
                let record =
                    LocalRecord::TurnOpened { message: None, text: String::new(), images: Vec::new(), options, setup };
                self.take_local(&record, None).await?;
                answer(reply, Ok(()));
            }
            Some(Began::Answers(requests)) => {
                let answers = self.answered(&requests);
                self.take_local_of(&LocalRecord::AnswersOpened { answers, setup }, left_at).await?;
                self.answers_arrived(&requests).await?;
            }
            None => {}
        }
        self.fold.reducer.touch_header();
        Ok(())
    }

    fn may_end_unsaid(&self) -> bool {
        let opened = self.stream.turn.as_ref().is_some_and(|turn| turn.began.is_none());
        opened && self.link.as_ref().is_some_and(|link| link.protocol.may_end_unsaid())
    }

    /// The stream ended cleanly before its last word, as this server's do: no drop. What was told tells what waits, the
    /// history how it ended.
    async fn turn_ended_unsaid(&mut self) -> Result<(), StoreError> {
        self.drain_held().await?;
        if let Some(turn) = &mut self.stream.turn {
            turn.over = true;
        }
        self.stream.turn_bounds += 1;
        self.beside.forget();
        let closed = Frame { name: Some(CLOSED.to_owned()), ..Frame::default() };
        let now = self.now();
        self.take_frames(vec![closed], Origin::Answer, now).await?;
        self.beside.owe_for_turn();
        Ok(())
    }

    fn turn_state(&mut self, state: ConnectionState) {
        self.stream.state = match state {
            ConnectionState::Connecting { .. }
            | ConnectionState::Live { .. }
            | ConnectionState::Unauthorized
            | ConnectionState::Forbidden { .. } => state,
            // One turn is over, and the session goes on.
            ConnectionState::Closed
            | ConnectionState::Waiting { .. }
            | ConnectionState::Gone
            | ConnectionState::Ended
            | ConnectionState::Paused
            | ConnectionState::Full => ConnectionState::Closed,
        };
        self.fold.reducer.touch_header();
    }

    async fn log_turn(&mut self, row: ConnectionLogRow) -> Result<(), StoreError> {
        let over = self.stream.turn.as_ref().is_some_and(|turn| turn.over);
        match row.what {
            ConnectionLogKind::Ended | ConnectionLogKind::Dropped { .. } if over => {
                self.log_connection(ConnectionLogKind::ClosedHere, None).await
            }
            what => self.log_connection(what, row.detail).await,
        }
    }

    async fn turn_dropped(&mut self, cause: ConnectionCause) -> Result<(), StoreError> {
        self.drain_held().await?;
        self.take_local(&LocalRecord::Dropped { cause }, None).await?;
        self.stream.turn_bounds += 1;
        self.beside.forget();
        self.beside.owe_for_turn();
        Ok(())
    }

    /// Nothing more comes of this turn's stream.
    async fn turn_stream_ended(&mut self) -> Result<(), StoreError> {
        self.stream.close();
        let Some(TurnStream { began, over, not_opened, .. }) = self.stream.turn.take() else { return Ok(()) };
        if !matches!(self.stream.state, ConnectionState::Unauthorized | ConnectionState::Forbidden { .. }) {
            self.stream.state = ConnectionState::Closed;
        }
        self.fold.reducer.touch_header();
        let failed = not_opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(began) = began {
            self.fold.reducer.not_begun();
            return self.turn_not_opened(began, failed.unwrap_or_else(unknown)).await;
        }
        self.settle_stop().await?;
        self.hold_untaken().await?;
        if over {
            self.beside.turn_over(self.now());
            if self.history_tells() {
                // What the stream left out is there.
                self.beside.owe_history();
            }
        }
        // After a drop for its truth, after an end for what it made possible.
        self.look();
        if let Some(reply) = self.beside.resume.take() {
            return self.resume(reply).await;
        }
        self.flush_outbox().await
    }

    async fn turn_not_opened(&mut self, began: Began, failed: AskError) -> Result<(), StoreError> {
        tracing::info!(session_id = self.id.0, code = ?failed.error.code, uncertain = failed.uncertain, "no turn began");
        match began {
            Began::Resume(reply) => {
                // That there is nothing to take up any more is what the checks will say, too.
                let nothing = failed.error.code == ErrorCode::Conflict;
                answer(reply, if nothing { Ok(()) } else { Err(failed.error) });
                if failed.uncertain {
                    self.beside.owe_for_turn();
                }
            }
            Began::Answers(requests) => self.answers_not_opened(&requests, failed).await?,
            Began::Message(message) if failed.uncertain => self.lose(*message),
            Began::Message(message) => {
                self.hold_back(&message.id).await?;
                self.say_refused(&failed.error);
            }
        }
        self.look();
        Ok(())
    }

    /// Whether it arrived is not known: shown so, looked for in the history, and never sent a second time.
    pub(super) fn lose(&mut self, message: OutboxMessage) {
        self.fold.reducer.local_message(&message.id, &message.body, MessageState::Uncertain, message.at);
        self.uncertain.insert(message.id, self.history.next_reading());
        self.beside.owe_for_turn();
    }

    /// A message goes back to the queue and waits there for the person's word.
    pub(super) async fn hold_back(&mut self, id: &str) -> Result<(), StoreError> {
        self.uncertain.remove(id);
        self.steered.remove(id);
        self.fold.reducer.drop_local_message(id);
        if let Some(message) = self.outbox.iter_mut().find(|message| message.id == id) {
            message.state = OutboxState::Held;
            self.hub.store.put_outbox(message.clone()).await?;
        }
        self.fold.reducer.touch_header();
        Ok(())
    }

    /// Lets go of a turn's stream before its end: the run is over then, wherever it stood.
    pub(super) async fn cut_turn(&mut self) -> Result<(), StoreError> {
        let Some(turn) = self.stream.turn.take() else { return Ok(()) };
        if let Some(reply) = self.beside.resume.take() {
            answer(reply, Err(unknown().error));
        }
        self.drain_held().await?;
        self.stream.close();
        self.stream.state = ConnectionState::Closed;
        self.fold.reducer.not_begun();
        self.log_connection(ConnectionLogKind::ClosedHere, None).await?;
        match turn.began {
            // It was still on its way: nothing tells whether it arrived.
            Some(Began::Message(message)) => self.lose(*message),
            Some(Began::Resume(reply)) => answer(reply, Err(unknown().error)),
            Some(Began::Answers(requests)) => self.lose_answers(&requests),
            None if !turn.over => self.turn_dropped(ConnectionCause::Closed).await?,
            None => {}
        }
        self.hold_untaken().await
    }

    /// What a crash, or the end of the app, left open: its stream is gone, and its end is to be found out.
    pub(super) async fn find_open_turn(&mut self) -> Result<(), StoreError> {
        if mem::take(&mut self.fold.open_turn) {
            self.take_local(&LocalRecord::Dropped { cause: ConnectionCause::Broken }, None).await?;
            self.beside.owe_for_turn();
        }
        let left = self.outbox.iter().filter(|message| message.state == OutboxState::Sending);
        for message in left.cloned().collect::<Vec<_>>() {
            self.lose(message);
        }
        Ok(())
    }
}

fn unknown() -> AskError {
    let error = AppError::retryable(
        ErrorCode::Unreachable,
        "The connection was let go before the server had answered. Whether this arrived is looked up.",
    );
    AskError { error, uncertain: true, layer: None }
}
