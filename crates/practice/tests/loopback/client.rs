//! A tiny HTTP client over a TCP stream: it sees the bytes as they are, so that cuts and stalls can be told apart.

use std::time::Duration;

use practice::{Config, Pace, Practice};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

pub async fn patient<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.unwrap()
}

/// A server without pauses, with the token `tok`.
pub async fn server() -> Practice {
    server_with(Config::default()).await
}

pub async fn server_with(config: Config) -> Practice {
    let config = Config { token: Some("tok".into()), pace: Pace::Fast, heartbeat: None, ..config };
    Practice::start(config).await.unwrap()
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }
}

fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap();
    let slash = rest.find('/').unwrap();
    rest.split_at(slash)
}

async fn ask(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let (host, path) = split(url);
    let mut line = TcpStream::connect(host).await.unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    line.write_all(head.as_bytes()).await.unwrap();
    line
}

/// One request with these headers alone. `None` = the connection ended without an answer.
pub async fn raw(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Option<Answer> {
    patient(async {
        let mut line = ask(url, method, headers, body).await;
        let mut bytes = Vec::new();
        // A reset is an end as well here.
        let _ = line.read_to_end(&mut bytes).await;
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut body = bytes.split_off(end + 4);
        if head.to_lowercase().contains("transfer-encoding: chunked") {
            let mut chunks = Chunks { raw: body, ..Chunks::default() };
            chunks.open();
            body = chunks.data;
        }
        Some(Answer { status, head, body })
    })
    .await
}

pub const QODER: &[(&str, &str)] = &[("authorization", "Bearer tok")];
pub const CLAUDE: &[(&str, &str)] =
    &[("x-api-key", "tok"), ("anthropic-version", "2023-06-01"), ("anthropic-beta", "managed-agents-2026-04-01")];

fn headers_for(url: &str) -> &'static [(&'static str, &'static str)] {
    if url.contains("/api/v1/cloud") || url.contains("/practice/") { QODER } else { CLAUDE }
}

pub async fn get(url: &str) -> Answer {
    raw(url, "GET", headers_for(url), "").await.unwrap()
}

pub async fn post(url: &str, body: &Value) -> Answer {
    raw(url, "POST", headers_for(url), &body.to_string()).await.unwrap()
}

/// Creates a session with this metadata and gives its address.
pub async fn create(base: &str, metadata: &[(&str, &str)]) -> String {
    let metadata: Value = metadata.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let body = json!({"agent": "agent_practice", "environment_id": "env_practice", "metadata": metadata});
    let answer = post(&format!("{base}/sessions"), &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    format!("{base}/sessions/{}", answer.json()["id"].as_str().unwrap())
}

pub fn message(text: &str) -> Value {
    json!({"type": "user.message", "content": [{"type": "text", "text": text}]})
}

pub async fn send(session: &str, events: Value) -> Answer {
    post(&format!("{session}/events"), &json!({"events": events})).await
}

pub async fn say(session: &str, text: &str) -> Answer {
    send(session, json!([message(text)])).await
}

/// The id at the end of a session's address.
pub fn id_of(session: &str) -> &str {
    session.rsplit('/').next().unwrap()
}

#[derive(Debug, Default)]
struct Chunks {
    raw: Vec<u8>,
    data: Vec<u8>,
    over: bool,
}

impl Chunks {
    /// Moves whole chunks from `raw` to `data`.
    fn open(&mut self) {
        while let Some(end) = self.raw.windows(2).position(|two| two == b"\r\n") {
            let size = String::from_utf8_lossy(&self.raw[..end]).into_owned();
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            if self.raw.len() < end + 2 + size + 2 {
                return;
            }
            self.data.extend_from_slice(&self.raw[end + 2..end + 2 + size]);
            self.raw.drain(..end + 2 + size + 2);
            if size == 0 {
                self.over = true;
                return;
            }
        }
    }
}

/// One SSE frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub id: String,
    pub event: String,
    pub data: Value,
    pub bytes: Vec<u8>,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Cleanly,
    Cut,
}

/// An open stream.
pub struct Live {
    line: TcpStream,
    chunks: Chunks,
    pub head: String,
    pub seen: Vec<u8>,
    looked: usize,
}

impl Live {
    /// Opens a stream; the answer must be a 200.
    pub async fn open(url: &str) -> Self {
        Self::open_with(url, &[]).await
    }

    pub async fn open_with(url: &str, more: &[(&str, &str)]) -> Self {
        let headers: Vec<_> = headers_for(url).iter().chain(more).copied().collect();
        Self::send(url, "GET", &headers, "").await
    }

    /// Opens a stream with a request of any kind; the answer must be a 200.
    pub async fn send(url: &str, method: &str, headers: &[(&str, &str)], body: &str) -> Self {
        patient(async {
            let mut line = ask(url, method, headers, body).await;
            let mut bytes = Vec::new();
            let end = loop {
                if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                    break end;
                }
                assert!(line.read_buf(&mut bytes).await.unwrap() > 0, "no head");
            };
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            let chunks = Chunks { raw: bytes.split_off(end + 4), ..Chunks::default() };
            Self { line, chunks, head, seen: Vec::new(), looked: 0 }
        })
        .await
    }

    async fn more(&mut self) -> Result<(), Ended> {
        loop {
            self.chunks.open();
            if !self.chunks.data.is_empty() {
                self.seen.append(&mut self.chunks.data);
                return Ok(());
            }
            if self.chunks.over {
                return Err(Ended::Cleanly);
            }
            if self.line.read_buf(&mut self.chunks.raw).await.unwrap_or(0) == 0 {
                return Err(Ended::Cut);
            }
        }
    }

    /// The next block as bytes, with its blank line.
    pub async fn block(&mut self) -> Result<Vec<u8>, Ended> {
        patient(async {
            loop {
                // What was looked through already is not looked through again: frames can have megabytes.
                let from = self.looked.saturating_sub(3);
                let fresh = &self.seen[from..];
                let lf = fresh.windows(2).position(|two| two == b"\n\n").map(|at| from + at + 2);
                let crlf = fresh.windows(4).position(|four| four == b"\r\n\r\n").map(|at| from + at + 4);
                if let Some(end) = lf.into_iter().chain(crlf).min() {
                    self.looked = 0;
                    return Ok(self.seen.drain(..end).collect());
                }
                self.looked = self.seen.len();
                self.more().await?;
            }
        })
        .await
    }

    /// The next frame; comments are passed over.
    pub async fn frame(&mut self) -> Result<Frame, Ended> {
        loop {
            let bytes = self.block().await?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let field = |name: &str| {
                let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                found.unwrap_or_default().to_owned()
            };
            if text.starts_with(':') {
                continue;
            }
            let data = serde_json::from_str(&field("data")).unwrap_or_default();
            return Ok(Frame { id: field("id"), event: field("event"), data, bytes });
        }
    }

    /// Frames up to and with the first of this kind.
    pub async fn until(&mut self, event: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            match self.frame().await {
                Ok(frame) => {
                    let found = frame.event == event;
                    frames.push(frame);
                    if found {
                        return frames;
                    }
                }
                Err(ended) => panic!("{ended:?} before {event}, after {:?}", kinds(&frames)),
            }
        }
    }

    /// Frames up to the idle event that ends the turn or asks.
    pub async fn idle(&mut self) -> Vec<Frame> {
        self.until("session.status_idle").await
    }

    /// Everything up to the end.
    pub async fn rest(&mut self) -> (Vec<Frame>, Ended) {
        let mut frames = Vec::new();
        loop {
            match self.frame().await {
                Ok(frame) => frames.push(frame),
                Err(ended) => return (frames, ended),
            }
        }
    }
}

pub fn kinds(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.event.as_str()).collect()
}

pub fn text_of(frame: &Frame) -> String {
    frame.data["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// The events of a session as its list has them.
pub async fn listed(session: &str) -> Vec<Value> {
    get(&format!("{session}/events?limit=100")).await.json()["data"].as_array().unwrap().clone()
}
