//! A connection on paused time: answers from a list, bodies from a channel, a wall clock that can jump.

use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use contract::{
    Millis,
    connection::ConnectionState,
    wire::{Cursor, Frame},
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use tokio::{task::JoinHandle, time::timeout};

use super::super::*;
use crate::{
    client::{BodyError, ByteStream, SendError},
    reconnect::Moment,
};

pub(super) type Bodies = mpsc::UnboundedSender<Result<Bytes, BodyError>>;

/// A client that answers from a list, and tells which cursor each request carried and when.
pub(super) struct Script {
    answers: Mutex<VecDeque<BoxFuture<'static, Result<ByteStream, OpenError>>>>,
    asked: mpsc::UnboundedSender<(Option<String>, Instant)>,
}

impl Opener for Script {
    fn open(
        &self,
        request: http::Request<Bytes>,
        _answer: Option<Duration>,
    ) -> BoxFuture<'static, Result<ByteStream, OpenError>> {
        let cursor = request.headers().get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        self.asked.send((cursor, Instant::now())).unwrap();
        self.answers.lock().unwrap().pop_front().expect("one answer more than the test has")
    }
}

/// Wall time that follows the paused clock, plus the sleep a test adds.
pub(super) struct TestClock {
    pub(super) start: Instant,
    pub(super) slept_ms: AtomicI64,
}

pub(super) const WALL: Millis = 1_800_000_000_000;

impl Clock for TestClock {
    fn now(&self) -> Moment {
        let mono = self.start.elapsed();
        let lived = Millis::try_from(mono.as_millis()).unwrap();
        Moment { mono, wall: WALL + lived + self.slept_ms.load(Ordering::Relaxed) }
    }
}

pub(super) struct Rig {
    pub(super) script: Arc<Script>,
    pub(super) clock: Arc<TestClock>,
    pub(super) asked: mpsc::UnboundedReceiver<(Option<String>, Instant)>,
    pub(super) links: mpsc::Receiver<Link>,
    pub(super) links_in: Option<mpsc::Sender<Link>>,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) commands_out: Option<mpsc::Receiver<Command>>,
    pub(super) cursor: CommittedCursor,
    pub(super) cancel: CancellationToken,
    pub(super) limits: Limits,
    pub(super) reattach: bool,
}

impl Rig {
    pub(super) fn new() -> Self {
        let (asked_in, asked) = mpsc::unbounded_channel();
        let (links_in, links) = mpsc::channel(64);
        let (commands, commands_out) = mpsc::channel(8);
        Self {
            script: Arc::new(Script { answers: Mutex::default(), asked: asked_in }),
            clock: Arc::new(TestClock { start: Instant::now(), slept_ms: AtomicI64::new(0) }),
            asked,
            links,
            links_in: Some(links_in),
            commands,
            commands_out: Some(commands_out),
            cursor: CommittedCursor::default(),
            cancel: CancellationToken::new(),
            limits: Limits::default(),
            reattach: true,
        }
    }

    pub(super) fn answer(&self, answer: BoxFuture<'static, Result<ByteStream, OpenError>>) {
        self.script.answers.lock().unwrap().push_back(answer);
    }

    /// The next opening succeeds; what is sent here is its body.
    pub(super) fn body(&self) -> Bodies {
        let (bodies, mut body) = mpsc::unbounded_channel();
        let body = stream::poll_fn(move |context| body.poll_recv(context)).boxed();
        self.answer(std::future::ready(Ok(body)).boxed());
        bodies
    }

    pub(super) fn refuses(&self, status: u16, headers: &[(&str, &str)], body: &'static str) {
        let mut response = http::Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        let response = response.body(Bytes::from_static(body.as_bytes())).unwrap();
        self.answer(std::future::ready(Err(OpenError::Refused(Box::new(response)))).boxed());
    }

    pub(super) fn unreachable(&self) {
        let error = OpenError::Send(SendError::TimedOut { limit: Duration::from_secs(1) });
        self.answer(std::future::ready(Err(error)).boxed());
    }

    pub(super) fn never_answers(&self) {
        self.answer(std::future::pending().boxed());
    }

    pub(super) fn start(&mut self) -> JoinHandle<Stop> {
        let spec = ConnectionSpec {
            request: Arc::new(|cursor| {
                let mut request = http::Request::get("http://127.0.0.1/");
                if let Some(Cursor(id)) = cursor {
                    request = request.header("last-event-id", id);
                }
                request.body(Bytes::new()).unwrap()
            }),
            words: Arc::new(plain_words),
            reattach: self.reattach,
            limits: self.limits.clone(),
            cursor: self.cursor.clone(),
        };
        let connection = Connection::new(
            spec,
            self.script.clone(),
            self.clock.clone(),
            self.links_in.take().unwrap(),
            self.commands_out.take().unwrap(),
            self.cancel.clone(),
        );
        tokio::spawn(connection.with_chance(|| 1.0).run())
    }

    /// The next message, log lines left out.
    pub(super) async fn link(&mut self) -> Link {
        loop {
            match timeout(Duration::from_secs(100_000), self.links.recv()).await.expect("no message").expect("ended") {
                Link::Log(_) => {}
                link => return link,
            }
        }
    }

    pub(super) async fn state(&mut self) -> ConnectionState {
        match self.link().await {
            Link::State(state) => state,
            other => panic!("no state but {other:?}"),
        }
    }

    pub(super) async fn until_live(&mut self) {
        while !matches!(self.link().await, Link::State(ConnectionState::Live { .. })) {}
    }

    pub(super) async fn pieces(&mut self) -> Vec<Piece> {
        match self.link().await {
            Link::Batch { pieces, .. } => pieces,
            other => panic!("no batch but {other:?}"),
        }
    }

    pub(super) async fn closed(&mut self) -> (Option<ConnectionCause>, u64) {
        match self.link().await {
            Link::Closed { cause, dropped_bytes } => (cause, dropped_bytes),
            other => panic!("not closed but {other:?}"),
        }
    }

    pub(super) async fn asked(&mut self) -> (Option<String>, Instant) {
        self.asked.recv().await.unwrap()
    }

    pub(super) async fn tell(&self, command: Command) {
        self.commands.send(command).await.unwrap();
    }

    /// Whether nothing is reported for this long.
    pub(super) async fn quiet_for(&mut self, seconds: u64) -> bool {
        timeout(Duration::from_secs(seconds), self.link()).await.is_err()
    }
}

pub(super) fn bytes(text: &'static str) -> Result<Bytes, BodyError> {
    Ok(Bytes::from_static(text.as_bytes()))
}

pub(super) fn message(data: &str) -> Piece {
    Piece::Frame(Frame { data: data.into(), ..Frame::default() })
}

pub(super) fn with_id(id: &str, data: &str) -> Piece {
    Piece::Frame(Frame { id: Some(id.into()), data: data.into(), ..Frame::default() })
}
