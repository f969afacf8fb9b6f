//! What goes over the wire, field by field in the order it is written (§1.2, §2 and §4). Pure: values in, bytes out.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Block {
    Known(Part),
    /// Kept as it came.
    Other(Value),
}

/// The pieces that are known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Part {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
    },
    Image {
        url: String,
    },
    /// v3's name of a call.
    ToolUse {
        tool_call_id: String,
        name: String,
        input: Value,
    },
    /// v4's name of a call.
    ToolCall {
        tool_call_id: String,
        name: String,
        input: Value,
    },
}

/// A text, or pieces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

impl Content {
    /// The text in it.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => {
                let texts = blocks.iter().filter_map(|block| match block {
                    Block::Known(Part::Text { text }) => Some(text.as_str()),
                    _ => None,
                });
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// As a model would quote it: a text as it is, pieces as JSON.
    pub(crate) fn quoted(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(_) => serde_json::to_string(self).unwrap_or_default(),
        }
    }

    /// The addresses of the images in it.
    pub(crate) fn images(&self) -> Vec<&str> {
        match self {
            Self::Text(_) => Vec::new(),
            Self::Blocks(blocks) => {
                let urls = blocks.iter().filter_map(|block| match block {
                    Block::Known(Part::Image { url }) => Some(url.as_str()),
                    _ => None,
                });
                urls.collect()
            }
        }
    }
}

/// A message of the history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message {
    pub(crate) role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<String>,
    pub(crate) content: Content,
}

impl Message {
    pub(crate) fn of(role: &str, content: Content) -> Self {
        Self { role: role.to_owned(), tool_call_id: None, content }
    }

    pub(crate) fn tool(id: &str, content: Content) -> Self {
        Self { role: "tool".to_owned(), tool_call_id: Some(id.to_owned()), content }
    }
}

/// A message of the history with what v4 adds to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) timestamp: String,
    #[serde(flatten)]
    pub(crate) message: Message,
}

/// A call: the data of `tool_call` and an item of `pending`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallOut {
    pub(crate) tool_call_id: String,
    pub(crate) name: String,
    pub(crate) input: Value,
}

/// The data of `tool_result`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultOut {
    pub(crate) tool_call_id: String,
    pub(crate) content: Content,
}

/// A payload with v4's id and time in front.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Stamped<T> {
    pub(crate) id: String,
    pub(crate) timestamp: String,
    #[serde(flatten)]
    pub(crate) payload: T,
}

/// What arrives at `POST …/input` and goes out as `input` (§4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Input {
    User {
        content: Content,
    },
    Tool {
        tool_call_id: String,
        content: Content,
    },
    Permission {
        tool_call_id: String,
        granted: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Cancel {},
}

/// The answer of a turn in `none` mode (§2.1).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnOut {
    pub(crate) stop_reason: String,
    pub(crate) messages: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pending: Option<Vec<CallOut>>,
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_frame_names_its_event_outside_the_data_alone() {
        let call = CallOut { tool_call_id: "call_1".into(), name: "clock".into(), input: json!({}) };
        assert_eq!(
            frame("tool_call", &call),
            "event: tool_call\ndata: {\"toolCallId\":\"call_1\",\"name\":\"clock\",\"input\":{}}\n\n"
        );
        let stamped = Stamped { id: "evt_1".into(), timestamp: "t".into(), payload: call };
        assert_eq!(
            frame("tool_call", &stamped),
            "event: tool_call\ndata: {\"id\":\"evt_1\",\"timestamp\":\"t\",\"toolCallId\":\"call_1\",\"name\":\"clock\",\"input\":{}}\n\n"
        );
    }

    #[test]
    fn unknown_blocks_and_both_spellings_of_a_call_are_kept() {
        let text = r#"{"role":"assistant","content":[{"type":"tool_use","toolCallId":"a","name":"b","input":{}},{"type":"tool_call","toolCallId":"a","name":"b","input":{}},{"chart":1,"type":"graph"}]}"#;
        let message: Message = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&message).unwrap(), text);
    }

    #[test]
    fn an_input_is_one_of_four() {
        let read = |text| serde_json::from_str::<Input>(text);
        assert_eq!(read(r#"{"type":"cancel"}"#).unwrap(), Input::Cancel {});
        let text = r#"{"type":"permission","toolCallId":"call_2","granted":false,"reason":"no"}"#;
        assert_eq!(serde_json::to_string(&read(text).unwrap()).unwrap(), text);
        assert!(read(r#"{"type":"steer"}"#).is_err() && read(r#"{"type":"tool","content":"a"}"#).is_err());
    }
}
