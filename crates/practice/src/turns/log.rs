//! What happened in a v4 session, as its streams tell it: in pieces or in whole messages, and again for a new stream
//! unless it joined the history (§4, events and resume).

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::shape::{CallOut, Input, ResultOut, Stamped, frame};

/// How text reaches the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    Delta,
    Message,
    None,
}

impl Mode {
    /// The mode of this word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        serde_json::from_value(word.into()).ok()
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Message => "message",
            Self::None => "none",
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    Input(Stamped<Input>),
    Start {
        id: String,
    },
    Piece {
        thinking: bool,
        text: String,
    },
    /// A message is complete. Its thinking has an id of its own where messages come whole.
    End {
        id: String,
        timestamp: String,
        thinking: Option<(String, String)>,
        text: Option<String>,
    },
    Call(Stamped<CallOut>),
    Result(Stamped<ResultOut>),
    Error(Stamped<Failure>),
    Idle {
        id: String,
        timestamp: String,
    },
    /// Any bytes.
    Raw(Bytes),
}

/// The data of `error`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Failure {
    pub(crate) code: String,
    pub(crate) message: String,
}

#[derive(Serialize)]
struct Ended<'a> {
    id: &'a str,
    timestamp: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

impl Event {
    /// The frames of a stream in this mode; none where the mode does not tell it.
    pub(crate) fn frames(&self, mode: Mode) -> Vec<Bytes> {
        let delta = mode == Mode::Delta;
        match self {
            Self::Input(input) => vec![frame("input", input)],
            Self::Start { id } if delta => vec![frame("message_start", &json!({"id": id}))],
            Self::Piece { thinking, text } if delta => vec![piece(*thinking, text)],
            Self::Start { .. } | Self::Piece { .. } => Vec::new(),
            Self::End { id, timestamp, .. } if delta => {
                vec![frame("message_end", &Ended { id, timestamp, thinking: None, text: None })]
            }
            Self::End { id, timestamp, thinking, text } => {
                let thought = thinking.as_ref().map(|(id, thinking)| {
                    frame("thinking", &Ended { id, timestamp, thinking: Some(thinking), text: None })
                });
                let said = text
                    .as_deref()
                    .map(|text| frame("text", &Ended { id, timestamp, thinking: None, text: Some(text) }));
                thought.into_iter().chain(said).collect()
            }
            Self::Call(call) => vec![frame("tool_call", call)],
            Self::Result(result) => vec![frame("tool_result", result)],
            Self::Error(error) => vec![frame("error", error)],
            Self::Idle { id, timestamp } => {
                vec![frame("idle", &Ended { id, timestamp, thinking: None, text: None })]
            }
            Self::Raw(bytes) => vec![bytes.clone()],
        }
    }
}

/// The frame of a piece: the same in v3 and v4.
pub(crate) fn piece(thinking: bool, text: &str) -> Bytes {
    frame(if thinking { "thinking_delta" } else { "text_delta" }, &json!({"delta": text}))
}

/// Everything that happened, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Log {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    event: Event,
    folded: bool,
}

impl Log {
    pub(crate) fn push(&mut self, event: Event) {
        // Bytes put in by hand are for those who listen now.
        let folded = matches!(event, Event::Raw(_) | Event::Idle { .. });
        self.lines.push(Line { event, folded });
    }

    /// All up to now is in the history, but for messages that `unread` says nobody looked at yet.
    pub(crate) fn fold(&mut self, unread: impl Fn(&str) -> bool) {
        for line in &mut self.lines {
            let waits = matches!(&line.event, Event::Input(input) if unread(&input.id));
            line.folded |= !waits;
        }
    }

    /// What a stream that begins now says first.
    pub(crate) fn replay(&self, mode: Mode) -> Vec<Bytes> {
        self.lines.iter().filter(|line| !line.folded).flat_map(|line| line.event.frames(mode)).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// What happened from there on, and whether it ends the stream.
    pub(crate) fn since(&self, from: usize, mode: Mode) -> (Vec<Bytes>, bool) {
        let lines = self.lines.get(from..).unwrap_or_default();
        let idle = lines.iter().position(|line| matches!(line.event, Event::Idle { .. }));
        let upto = idle.map_or(lines.len(), |at| at + 1);
        (lines.iter().take(upto).flat_map(|line| line.event.frames(mode)).collect(), idle.is_some())
    }

    /// The events as values, for tests to look at.
    pub(crate) fn told(&self) -> Vec<Value> {
        let frames = self.lines.iter().flat_map(|line| line.event.frames(Mode::Message));
        frames
            .filter_map(|bytes| {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let name = text.lines().find_map(|line| line.strip_prefix("event: "))?.to_owned();
                let payload: Value =
                    serde_json::from_str(text.lines().find_map(|line| line.strip_prefix("data: "))?).ok()?;
                Some(json!({"event": name, "data": payload}))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::turns::shape::Content;

    fn said(log: &mut Log) {
        let input = Input::User { content: Content::Text("hi".into()) };
        log.push(Event::Input(Stamped { id: "evt_1".into(), timestamp: "t1".into(), payload: input }));
        log.push(Event::Start { id: "msg_1".into() });
        log.push(Event::Piece { thinking: true, text: "hm".into() });
        log.push(Event::Piece { thinking: false, text: "yes".into() });
        log.push(Event::End {
            id: "msg_1".into(),
            timestamp: "t2".into(),
            thinking: Some(("msg_2".into(), "hm".into())),
            text: Some("yes".into()),
        });
    }

    fn joined(frames: Vec<Bytes>) -> String {
        String::from_utf8(frames.concat()).unwrap()
    }

    #[test]
    fn a_message_is_told_in_pieces_or_whole() {
        let mut log = Log::default();
        said(&mut log);
        let input =
            "event: input\ndata: {\"id\":\"evt_1\",\"timestamp\":\"t1\",\"type\":\"user\",\"content\":\"hi\"}\n\n";
        assert_eq!(
            joined(log.replay(Mode::Delta)),
            format!(
                "{input}event: message_start\ndata: {{\"id\":\"msg_1\"}}\n\nevent: thinking_delta\ndata: {{\"delta\":\"hm\"}}\n\nevent: text_delta\ndata: {{\"delta\":\"yes\"}}\n\nevent: message_end\ndata: {{\"id\":\"msg_1\",\"timestamp\":\"t2\"}}\n\n"
            )
        );
        assert_eq!(
            joined(log.replay(Mode::Message)),
            format!(
                "{input}event: thinking\ndata: {{\"id\":\"msg_2\",\"timestamp\":\"t2\",\"thinking\":\"hm\"}}\n\nevent: text\ndata: {{\"id\":\"msg_1\",\"timestamp\":\"t2\",\"text\":\"yes\"}}\n\n"
            )
        );
    }

    #[test]
    fn what_joined_the_history_is_not_told_again_but_a_waiting_message_is() {
        let mut log = Log::default();
        said(&mut log);
        log.fold(|id| id == "evt_1");
        assert_eq!(log.replay(Mode::Delta).len(), 1);
        log.fold(|_| false);
        assert!(log.replay(Mode::Delta).is_empty());
        assert_eq!(log.since(1, Mode::Delta).0.len(), 4);
    }

    #[test]
    fn a_stream_ends_behind_idle() {
        let mut log = Log::default();
        said(&mut log);
        log.push(Event::Idle { id: "evt_2".into(), timestamp: "t3".into() });
        said(&mut log);
        let (frames, over) = log.since(0, Mode::Message);
        assert_eq!((frames.len(), over), (4, true));
    }
}
