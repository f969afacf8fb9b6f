//! The events of a run and the frames that carry them (§5). Pure: values in, bytes out.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::shape::Usage;

/// What happens in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event {
    TextDelta {
        text: String,
    },
    ReasoningStarted,
    ReasoningDelta {
        text: String,
    },
    ReasoningFinished,
    ToolStarted {
        call_id: String,
        name: String,
        arguments: Value,
    },
    ToolFinished {
        call_id: String,
        name: String,
        output: String,
        ok: bool,
        skipped: bool,
    },
    ServerToolStarted {
        call_id: String,
        name: String,
        arguments: Value,
    },
    ServerToolFinished {
        call_id: String,
        name: String,
        arguments: Value,
        output: String,
        ok: bool,
    },
    ApprovalRequested {
        call_id: String,
        command: String,
        /// The outer `None`: this server does not say it.
        #[serde(skip_serializing_if = "Option::is_none")]
        work_dir: Option<Option<String>>,
        approved: Option<bool>,
    },
    QuestionAsked {
        call_id: String,
        question: String,
        options: Vec<String>,
        allow_multiple: bool,
        answered: bool,
    },
    UsageUpdated {
        usage: Usage,
    },
    CompactionStarted,
    CompactionDelta {
        text: String,
    },
    CompactionFinished {
        applied: bool,
        summary: String,
    },
    ModelStopped {
        reason: String,
        message: Option<String>,
    },
    Steered {
        text: String,
    },
    SteeringFinished,
    SteeringInterrupted {
        text: String,
    },
    Notice {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        level: Option<String>,
    },
    Finished {
        text: String,
    },
}

/// A frame: its name, and compact JSON on one line.
pub(crate) fn frame(name: &str, payload: &impl Serialize) -> Bytes {
    match serde_json::to_string(payload) {
        Ok(json) => format!("event: {name}\ndata: {json}\n\n").into(),
        // None of our shapes has keys that are not strings.
        Err(error) => {
            tracing::error!(%error, "a frame could not be written");
            Bytes::new()
        }
    }
}

/// Cuts text behind each space, and every few characters where there are none, as models send it.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    let (mut pieces, mut piece, mut wide) = (Vec::new(), String::new(), 0);
    for letter in text.chars() {
        piece.push(letter);
        wide += usize::from(!letter.is_ascii());
        if letter == ' ' || letter == '\n' || wide >= 4 {
            pieces.push(std::mem::take(&mut piece));
            wide = 0;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_frame_is_a_name_and_one_line_of_json_with_the_type_first() {
        let asked = |work_dir| Event::ApprovalRequested {
            call_id: "call_1_0".into(),
            command: "pytest -q".into(),
            work_dir,
            approved: None,
        };
        assert_eq!(
            frame("event", &asked(None)),
            "event: event\ndata: {\"type\":\"approval_requested\",\"call_id\":\"call_1_0\",\"command\":\"pytest -q\",\"approved\":null}\n\n"
        );
        assert_eq!(
            frame("event", &asked(Some(Some("clients/web".into())))),
            "event: event\ndata: {\"type\":\"approval_requested\",\"call_id\":\"call_1_0\",\"command\":\"pytest -q\",\"work_dir\":\"clients/web\",\"approved\":null}\n\n"
        );
        assert_eq!(
            frame("event", &Event::SteeringFinished),
            "event: event\ndata: {\"type\":\"steering_finished\"}\n\n"
        );
    }

    #[test]
    fn pieces_join_to_the_text_and_split_no_character() {
        for text in ["", "one", "I will use a tool. ", "东京今天有雨，最高气温十八度。", "mixed 东京 and latin\nlines"]
        {
            assert_eq!(pieces(text).concat(), text);
        }
        assert_eq!(pieces("I will "), ["I ", "will "]);
        assert_eq!(pieces("东京今天有雨").len(), 2);
    }
}
