//! The toy's frames as events. Messages are numbered as they stand in the server's history, so that a history that is
//! read later only adds what is missing.

use contract::{
    event::{Event, EventBody, Permission, RequestSeed},
    item::{MessageState, Part, Role, Text},
    request::{Choice, ChoiceKind, RequestKind},
    session::{SessionState, StopReason},
    wire::{Frame, FrameKind, Origin},
};
use protocols::{Opened, Parsed, Seen, SessionCodec};
use serde_json::{Value, json};

/// One session's running state.
#[derive(Default)]
pub struct Codec {
    running: bool,
    /// The stream of a run of ours is open: what is said beside it may be older than what it said.
    ours: bool,
    /// How many messages of the history are shown.
    shown: usize,
    turns: u32,
}

struct Body {
    name: String,
    value: Value,
}

fn event(body: EventBody) -> Event {
    Event { at: None, turn: None, thread: None, body }
}

fn message(n: usize, who: &str, text: &str) -> Event {
    let role = if who == "user" { Role::User } else { Role::Agent };
    let parts = vec![Part::Text(Text { text: text.to_owned(), chars: text.chars().count() as u64, handle: None })];
    event(EventBody::Message { id: format!("m{n}"), replaces: None, role, parts, state: MessageState::Done })
}

impl Codec {
    fn begins(&mut self, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.running, true) {
            self.turns += 1;
            out.push(event(EventBody::TurnStarted));
        }
        out.push(event(EventBody::Status(SessionState::Running)));
    }

    fn ends(&mut self, stop: StopReason, out: &mut Vec<Event>) {
        if std::mem::take(&mut self.running) {
            out.push(event(EventBody::TurnEnded { stop }));
        }
        out.push(event(EventBody::Status(SessionState::Idle)));
    }

    fn asks(&self, ask: &Value, out: &mut Vec<Event>) {
        let Some(id) = ask["id"].as_str() else { return };
        let choice = |id: &str, kind| Choice { id: id.to_owned(), kind, label: None, scope: None, takes_reason: false };
        out.push(event(EventBody::Request(Box::new(RequestSeed {
            id: id.to_owned(),
            kind: RequestKind::Approval,
            item: Some(format!("call-{}-{id}", self.turns)),
            tool: Some("bash".to_owned()),
            source: None,
            arguments: json!({"command": ask["command"]}).to_string(),
            command: ask["command"].as_str().map(str::to_owned),
            work_dir: None,
            questions: Vec::new(),
            choices: vec![choice("yes", ChoiceKind::AllowOnce), choice("no", ChoiceKind::Deny)],
            answerable: true,
            deadline_ms: None,
            too_large: false,
            group: None,
            own_tool: None,
        }))));
        out.push(event(EventBody::Waiting { requests: vec![id.to_owned()] }));
    }
}

impl SessionCodec for Codec {
    fn parse(&self, frame: &Frame) -> Parsed {
        let name = frame.name.clone().unwrap_or_default();
        let value = serde_json::from_str(&frame.data).unwrap_or_default();
        Parsed {
            kind: FrameKind::Control,
            identity: None,
            terminal: name == "end",
            body: Box::new(Body { name, value }),
        }
    }

    fn fold(&mut self, parsed: Parsed, seen: Seen, out: &mut Vec<Event>) {
        let Ok(body) = parsed.body.downcast::<Body>() else { return };
        let Body { name, value } = *body;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match name.as_str() {
            "said" => {
                let n = value["n"].as_u64().unwrap_or_default() as usize;
                self.shown = self.shown.max(n);
                out.push(message(n, &text(&value["who"]), &text(&value["text"])));
            }
            "ask" => {
                let (id, name) = (format!("call-{}-{}", self.turns, text(&value["id"])), "bash".to_owned());
                let input = json!({"command": value["command"]}).to_string();
                out.push(event(EventBody::ToolCall { id, name, source: None, input, permission: Permission::Ask }));
                self.asks(&value, out);
            }
            "ran" => {
                let yes = value["ok"] == json!(true);
                let choice = Some(if yes { ChoiceKind::AllowOnce } else { ChoiceKind::Deny });
                let request = text(&value["id"]);
                let call = format!("call-{}-{request}", self.turns);
                let id = format!("{call}-result");
                let settled =
                    EventBody::Settled { request, choice, reason: None, event_id: id.clone(), output: Vec::new() };
                out.push(event(settled));
                let output = Vec::new();
                out.push(event(EventBody::ToolResult { id, call, name: None, output, is_error: !yes }));
                out.push(event(EventBody::Status(SessionState::Running)));
            }
            "end" => {
                self.ours = false;
                self.ends(StopReason::EndTurn, out);
            }
            "state" if self.ours => {}
            "state" if value["running"] == json!(true) => {
                self.begins(out);
                if value["ask"].is_object() {
                    self.asks(&value["ask"], out);
                }
            }
            "state" => self.ends(StopReason::Interrupted, out),
            "history" if seen.origin == Origin::History => {
                for (n, row) in value.as_array().into_iter().flatten().enumerate().skip(self.shown) {
                    self.shown = n + 1;
                    out.push(message(n + 1, &text(&row["who"]), &text(&row["text"])));
                }
            }
            _ => {}
        }
    }

    fn turn_opened(&mut self, opened: &Opened, _: Seen, out: &mut Vec<Event>) {
        self.ours = true;
        self.begins(out);
        if let Opened::Message { text, options, .. } = opened {
            self.shown += 1;
            out.push(message(self.shown, "user", text));
            out.push(event(EventBody::RunOptions(options.clone())));
        }
    }

    fn connection_lost(&mut self, out: &mut Vec<Event>) {
        self.ours = false;
        self.ends(StopReason::Interrupted, out);
    }
}
