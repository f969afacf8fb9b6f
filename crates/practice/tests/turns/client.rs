//! A tiny client of the `turns` side. Streams and plain requests are those of the other tests' client.

#[path = "../loopback/client.rs"]
#[expect(dead_code, reason = "the other tests use the rest of it")]
mod wire;

use practice::{Config, Control, Practice, TurnsControl, TurnsManner, TurnsVersion};
use serde_json::{Value, json};

pub use wire::{Answer, Ended, Frame, Live, patient, raw};

const TOKEN: &[(&str, &str)] = &[("authorization", "Bearer tok"), ("content-type", "application/json")];

/// A server and what steers it.
pub struct Rig {
    pub practice: Practice,
    pub control: Control,
    pub turns: TurnsControl,
    pub base: String,
}

pub async fn rig() -> Rig {
    rig_with(TurnsManner::default()).await
}

pub async fn rig_of(version: TurnsVersion) -> Rig {
    rig_with(TurnsManner::of(version)).await
}

pub async fn rig_with(manner: TurnsManner) -> Rig {
    on_file(Config { turns: manner, ..Config::default() }).await
}

pub async fn on_file(config: Config) -> Rig {
    let practice = wire::server_with(config).await;
    let control = practice.control();
    let (turns, base) = (control.turns(), practice.turns_base_url());
    Rig { practice, control, turns, base }
}

/// A message of the person.
pub fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub fn result(call: &str, text: &str) -> Value {
    json!({"role": "tool", "toolCallId": call, "content": text})
}

pub fn permission(call: &str, granted: bool) -> Value {
    json!({"role": "tool_permission", "toolCallId": call, "granted": granted})
}

/// What the mixed batch needs: two tools of the client, a trusted one and one that is not.
pub fn mixed_setup() -> Value {
    json!({
        "agent": {"name": "practice", "tools": [{"name": "clock", "trust": true}, {"name": "write_note"}]},
        "tools": [tool("calc"), tool("pick")],
    })
}

pub fn tool(name: &str) -> Value {
    json!({"name": name, "description": "A tool of the client.", "parameters": {"type": "object"}})
}

impl Rig {
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &body.to_string()).await
    }

    pub async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        raw(&format!("{}{path}", self.base), method, TOKEN, body).await.unwrap()
    }

    /// Makes a session and gives its id, whatever the version.
    pub async fn create(&self, body: &Value) -> String {
        let answer = self.post("/sessions", body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        match answer.header("location") {
            Some(location) => location.rsplit('/').next().unwrap().to_owned(),
            None => answer.json()["sessionId"].as_str().unwrap().to_owned(),
        }
    }

    pub async fn plain(&self) -> String {
        self.create(&json!({"agent": {"name": "practice"}})).await
    }

    /// Opens the stream of a turn.
    pub async fn stream(&self, session: &str, mode: &str, messages: Value) -> Live {
        let body = json!({"messages": messages, "stream": mode});
        let url = format!("{}/sessions/{session}/turns", self.base);
        Live::send(&url, "POST", TOKEN, &body.to_string()).await
    }

    /// Runs a turn to the end of its stream.
    pub async fn turn(&self, session: &str, mode: &str, messages: Value) -> Vec<Frame> {
        let (frames, ended) = self.stream(session, mode, messages).await.rest().await;
        assert_eq!(ended, Ended::Cleanly);
        frames
    }

    /// Runs a turn without a stream.
    pub async fn none(&self, session: &str, messages: Value) -> Answer {
        self.post(&format!("/sessions/{session}/turns"), &json!({"messages": messages})).await
    }

    pub async fn say(&self, session: &str, text: &str) -> Vec<Frame> {
        self.turn(session, "delta", json!([user(text)])).await
    }

    pub async fn history(&self, session: &str) -> Vec<Value> {
        let answer = self.get(&format!("/sessions/{session}/history?type=full")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["history"]["full"].as_array().unwrap().clone()
    }

    pub async fn session(&self, session: &str) -> Value {
        self.get(&format!("/sessions/{session}")).await.json()
    }

    /// v4: opens the event stream.
    pub async fn follow(&self, session: &str, mode: &str) -> Live {
        let url = format!("{}/sessions/{session}/events/stream?stream={mode}", self.base);
        Live::send(&url, "GET", TOKEN, "").await
    }

    /// v4: sends an input, which must be taken.
    pub async fn input(&self, session: &str, input: Value) {
        let answer = self.post(&format!("/sessions/{session}/input"), &input).await;
        assert_eq!((answer.status, answer.body.len()), (200, 0), "{}", answer.text());
    }
}

/// The names of frames; a run of pieces counts once.
pub fn names(frames: &[Frame]) -> Vec<&str> {
    let mut names: Vec<&str> = frames.iter().map(|frame| frame.event.as_str()).collect();
    names.dedup_by(|one, other| one == other && one.ends_with("_delta"));
    names
}

/// The text of all pieces.
pub fn text(frames: &[Frame]) -> String {
    let pieces = frames.iter().filter(|frame| frame.event == "text_delta");
    pieces.map(|frame| frame.data["delta"].as_str().unwrap()).collect()
}

/// Why the turn stopped.
pub fn stop(frames: &[Frame]) -> &str {
    let last = frames.last().unwrap();
    assert_eq!(last.event, "turn_stop", "{:?}", names(frames));
    last.data["stopReason"].as_str().unwrap()
}

/// The ids of the calls, in order.
pub fn calls(frames: &[Frame]) -> Vec<String> {
    let calls = frames.iter().filter(|frame| frame.event == "tool_call");
    calls.map(|frame| frame.data["toolCallId"].as_str().unwrap().to_owned()).collect()
}

/// All bytes of the frames.
pub fn bytes(frames: &[Frame]) -> String {
    frames.iter().map(|frame| String::from_utf8(frame.bytes.clone()).unwrap()).collect()
}

pub fn roles(history: &[Value]) -> Vec<&str> {
    history.iter().map(|message| message["role"].as_str().unwrap()).collect()
}
