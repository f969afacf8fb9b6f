//! A server written by hand, for bytes that the practice server does not produce: one answer per request, then the
//! connection closes.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    /// With the query.
    pub path: String,
    pub head: String,
    pub body: String,
}

/// An answer.
pub enum Answer {
    Json(Value),
    /// The same, when the word for it comes.
    Held(oneshot::Receiver<()>, Value),
    Status(u16),
    /// A stream that lives as long as its sender.
    Stream(mpsc::UnboundedReceiver<String>),
}

type Answers = dyn Fn(&Asked) -> Answer + Send + Sync;

/// The server. It ends when dropped.
pub struct Wire {
    pub base: String,
    seen: watch::Sender<Vec<Asked>>,
    task: JoinHandle<()>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Wire {
    pub async fn start(answers: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let base = format!("http://{}/api/v1/cloud", listener.local_addr()?);
        let seen = watch::Sender::new(Vec::new());
        let (answers, noted): (Arc<Answers>, _) = (Arc::new(answers), seen.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, noted) = (Arc::clone(&answers), noted.clone());
                // A client that went away needs no answer.
                tokio::spawn(async move { serve(stream, &*answers, &noted).await });
            }
        });
        Ok(Self { base, seen, task })
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Asked> {
        self.seen.borrow().clone()
    }

    /// Waits until the requests so far are as wanted.
    pub async fn until(&self, wanted: impl Fn(&[Asked]) -> bool) -> Result<()> {
        let mut seen = self.seen.subscribe();
        let wait = seen.wait_for(|seen| wanted(seen));
        tokio::time::timeout(Duration::from_secs(60), wait).await.context("waited in vain for a request")??;
        Ok(())
    }

    /// A server with one idle session, `sess_1`; `more` answers what is particular.
    pub async fn with_session(more: impl Fn(&Asked) -> Option<Answer> + Send + Sync + 'static) -> Result<Self> {
        Self::start(move |asked| {
            if let Some(answer) = more(asked) {
                return answer;
            }
            let session = json!({"id": "sess_1", "type": "session", "status": "idle", "title": "By hand",
                "created_at": "2026-09-01T08:00:00Z", "updated_at": "2026-09-01T08:01:00Z"});
            match asked.path.split('?').next().unwrap_or_default().trim_start_matches("/api/v1/cloud") {
                "/agents" => Answer::Json(json!({"data": [], "has_more": false})),
                "/sessions" => Answer::Json(json!({"data": [session], "has_more": false})),
                "/sessions/sess_1" => Answer::Json(session),
                "/sessions/sess_1/events" => Answer::Json(json!({"data": [], "has_more": false})),
                _ => Answer::Status(404),
            }
        })
        .await
    }
}

async fn serve(mut stream: TcpStream, answers: &Answers, seen: &watch::Sender<Vec<Asked>>) -> Result<()> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        anyhow::ensure!(stream.read_buf(&mut bytes).await? > 0, "no request");
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let length: usize = length.map_or(Ok(0), str::parse)?;
    while bytes.len() < head_end + length {
        anyhow::ensure!(stream.read_buf(&mut bytes).await? > 0, "half a request");
    }
    let line = String::from_utf8_lossy(&bytes[..head_end]).lines().next().context("no line")?.to_owned();
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let body = String::from_utf8_lossy(&bytes[head_end..head_end + length]).into_owned();
    let asked = Asked { method, path, head, body };
    seen.send_modify(|seen| seen.push(asked.clone()));
    match answers(&asked) {
        Answer::Json(value) => whole(&mut stream, 200, &value.to_string()).await,
        Answer::Held(go, value) => {
            go.await?;
            whole(&mut stream, 200, &value.to_string()).await
        }
        Answer::Status(status) => whole(&mut stream, status, "").await,
        Answer::Stream(mut frames) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            while let Some(frame) = frames.recv().await {
                stream.write_all(frame.as_bytes()).await?;
            }
            Ok(())
        }
    }
}

async fn whole(stream: &mut TcpStream, status: u16, body: &str) -> Result<()> {
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    stream.shutdown().await?;
    Ok(())
}
