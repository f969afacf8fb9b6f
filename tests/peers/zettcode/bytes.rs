//! A run over plain HTTP, frame by frame, without anything of ours in between.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::Peer;

/// How long anything that must come may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The answer to a prompt, being read.
pub struct Run {
    answer: reqwest::Response,
    rest: Vec<u8>,
    /// The frames so far: name and data.
    pub frames: Vec<(String, Value)>,
    /// The answer ended.
    pub over: bool,
}

impl Run {
    /// Starts a run whose commands and questions are asked about.
    pub async fn asking(peer: &Peer, text: &str) -> Result<Self> {
        Self::start(peer, json!({"text": text, "approvals": {"mode": "ask"}, "questions": "ask"})).await
    }

    /// Starts a run with this body.
    pub async fn start(peer: &Peer, body: Value) -> Result<Self> {
        Self::at(peer, "/prompts", body).await
    }

    /// Takes up what broke off.
    pub async fn resumed(peer: &Peer) -> Result<Self> {
        Self::at(peer, "/runs/resume", json!({"approvals": {"mode": "ask"}, "questions": "ask"})).await
    }

    async fn at(peer: &Peer, path: &str, body: Value) -> Result<Self> {
        let answer = peer.request(reqwest::Method::POST, path).json(&body).send().await?;
        ensure!(answer.status().is_success(), "{path}: {} {}", answer.status(), answer.text().await?);
        let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        ensure!(kind.starts_with("text/event-stream"), "{path}: {kind}");
        Ok(Self { answer, rest: Vec::new(), frames: Vec::new(), over: false })
    }

    /// Reads on until there is another frame, or the end.
    async fn step(&mut self) -> Result<()> {
        loop {
            if let Some(end) = self.rest.windows(2).position(|two| two == b"\n\n") {
                let block = String::from_utf8(self.rest.drain(..end + 2).collect())?;
                let mut lines = block.trim_end().split('\n');
                let name = lines.next().and_then(|line| line.strip_prefix("event: ")).context("no name first")?;
                let data = lines.next().and_then(|line| line.strip_prefix("data: ")).context("no data second")?;
                ensure!(lines.next().is_none(), "more than two lines: {block:?}");
                self.frames.push((name.to_owned(), serde_json::from_str(data)?));
                return Ok(());
            }
            match tokio::time::timeout(PATIENCE, self.answer.chunk()).await.context("the stream says nothing")? {
                Ok(Some(more)) => self.rest.extend_from_slice(&more),
                // A killed server breaks the chunked body off: for a reader it is the same end.
                Ok(None) | Err(_) => {
                    self.over = true;
                    return Ok(());
                }
            }
        }
    }

    /// Reads until an event of this type has come, and gives the newest such.
    pub async fn until(&mut self, kind: &str) -> Result<Value> {
        let begin = self.frames.len();
        loop {
            let new = self.frames.get(begin..).unwrap_or_default();
            if let Some((_, data)) = new.iter().find(|(_, data)| data["type"] == kind) {
                return Ok(data.clone());
            }
            if self.over {
                bail!("no {kind} came:\n{}", self.text());
            }
            self.step().await?;
        }
    }

    /// Reads to the end and gives the name and data of the last frame.
    pub async fn end(&mut self) -> Result<(String, Value)> {
        while !self.over {
            self.step().await?;
        }
        self.frames.last().cloned().context("not one frame")
    }

    /// The types of the events so far, without repeats side by side.
    pub fn types(&self) -> Vec<String> {
        let mut types: Vec<String> = self
            .frames
            .iter()
            .map(|(name, data)| data["type"].as_str().map_or_else(|| name.clone(), str::to_owned))
            .collect();
        types.dedup();
        types
    }

    /// The newest event of a type.
    pub fn newest(&self, kind: &str) -> Option<&Value> {
        self.frames.iter().rev().map(|(_, data)| data).find(|data| data["type"] == kind)
    }

    /// The frames, for a message.
    pub fn text(&self) -> String {
        self.frames.iter().map(|(name, data)| format!("{name} {data}\n")).collect()
    }
}
