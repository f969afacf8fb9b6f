//! A tiny client of the `runs` side. Streams and plain requests are those of the other tests' client.

#[path = "../loopback/client.rs"]
#[expect(dead_code, reason = "the other tests use the rest of it")]
mod wire;

use std::time::Duration;

use practice::{Config, Control, Generation, Practice, RunsControl, RunsManner};
use serde_json::{Value, json};

pub use wire::{Answer, Ended, Frame, Live, patient, raw};

const TOKEN: &[(&str, &str)] = &[("authorization", "Bearer tok"), ("content-type", "application/json")];

/// A server and what steers it.
pub struct Rig {
    pub practice: Practice,
    pub control: Control,
    pub runs: RunsControl,
    pub base: String,
}

pub async fn rig() -> Rig {
    rig_with(RunsManner::default()).await
}

pub async fn rig_of(generation: Generation) -> Rig {
    rig_with(RunsManner::of(generation)).await
}

pub async fn rig_with(manner: RunsManner) -> Rig {
    on_file(Config { runs: manner, ..Config::default() }).await
}

pub async fn on_file(config: Config) -> Rig {
    let practice = wire::server_with(config).await;
    let control = practice.control();
    let (runs, base) = (control.runs(), practice.runs_base_url());
    Rig { practice, control, runs, base }
}

/// What asks for everything.
pub fn asking(text: &str) -> Value {
    json!({"text": text, "approvals": {"mode": "ask"}, "questions": "ask"})
}

impl Rig {
    pub async fn get(&self, path: &str) -> Answer {
        raw(&format!("{}{path}", self.base), "GET", TOKEN, "").await.unwrap()
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, &body.to_string()).await
    }

    pub async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        raw(&format!("{}{path}", self.base), method, TOKEN, body).await.unwrap()
    }

    /// Opens the stream of a request that begins a run.
    pub async fn stream(&self, path: &str, body: &Value) -> Live {
        Live::send(&format!("{}{path}", self.base), "POST", TOKEN, &body.to_string()).await
    }

    pub async fn prompt(&self, body: &Value) -> Live {
        self.stream("/prompts", body).await
    }

    /// Runs a prompt to its end.
    pub async fn run(&self, body: &Value) -> Vec<Frame> {
        let (frames, ended) = self.prompt(body).await.rest().await;
        assert_eq!(ended, Ended::Cleanly);
        frames
    }

    pub async fn approve(&self, call: &str, approve: bool) -> bool {
        let answer = self.post("/runs/approvals", json!({"call_id": call, "approve": approve})).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["resolved"].as_bool().unwrap()
    }

    pub async fn answer(&self, call: &str, answer: Option<&str>) -> bool {
        let reply = self.post("/runs/questions", json!({"call_id": call, "answer": answer})).await;
        reply.json()["resolved"].as_bool().unwrap()
    }

    pub async fn history(&self) -> Vec<Value> {
        let answer = self.get("/sessions/current/history?full=true").await;
        if answer.status == 404 { Vec::new() } else { answer.json()["messages"].as_array().unwrap().clone() }
    }

    pub async fn resumable(&self) -> Value {
        self.get("/runs/resumable").await.json()
    }

    /// The run of the current session is over.
    pub async fn idle(&self) {
        self.runs.wait(None, Some(false), None, None).await.unwrap();
    }
}

/// A server in another process.
pub struct Remote(pub String);

impl Remote {
    pub async fn get(&self, path: &str) -> Value {
        raw(&format!("{}{path}", self.0), "GET", TOKEN, "").await.unwrap().json()
    }

    pub async fn post(&self, path: &str, body: Value) -> Value {
        raw(&format!("{}{path}", self.0), "POST", TOKEN, &body.to_string()).await.unwrap().json()
    }

    pub async fn stream(&self, path: &str, body: &Value) -> Live {
        Live::send(&format!("{}{path}", self.0), "POST", TOKEN, &body.to_string()).await
    }

    pub async fn prompt(&self, body: &Value) -> Live {
        self.stream("/prompts", body).await
    }
}

/// Frames up to and with the first event of this type.
pub async fn until(live: &mut Live, kind: &str) -> Vec<Frame> {
    let mut frames = Vec::new();
    loop {
        match live.frame().await {
            Ok(frame) => {
                let found = frame.data["type"] == kind;
                frames.push(frame);
                if found {
                    return frames;
                }
            }
            Err(ended) => panic!("{ended:?} before {kind}, after {:?}", kinds(&frames)),
        }
    }
}

/// The call a frame is about.
pub fn call_of(frames: &[Frame]) -> String {
    frames.last().unwrap().data["call_id"].as_str().unwrap().to_owned()
}

/// The kind of each frame: an event's type, or the frame's name; a run of pieces counts once.
pub fn kinds(frames: &[Frame]) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for frame in frames {
        let kind = if frame.event == "event" { frame.data["type"].as_str().unwrap_or("?") } else { &frame.event };
        if !(kind.ends_with("_delta") && kinds.last().is_some_and(|last| last == kind)) {
            kinds.push(kind.to_owned());
        }
    }
    kinds
}

/// The frames of one kind.
pub fn of<'a>(frames: &'a [Frame], kind: &str) -> Vec<&'a Value> {
    frames.iter().map(|frame| &frame.data).filter(|data| data["type"] == kind).collect()
}

/// The terminal frame.
pub fn last(frames: &[Frame]) -> (&str, &Value) {
    let frame = frames.last().unwrap();
    (frame.event.as_str(), &frame.data)
}

/// A time that is over before anybody answers, and short enough to wait for.
pub const SHORT: Duration = Duration::from_millis(50);
