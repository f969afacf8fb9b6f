//! Messages and their blocks, in all versions (page §1.2).

use contract::item::Part;

use super::pretty::pretty;
use crate::{
    json::{Fields, elements, string},
    told::{image, text_part, whole},
};

/// A tool call, as the wire has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Called {
    /// The server's id.
    pub call: String,
    pub name: String,
    /// The arguments as raw JSON, exactly as received.
    pub input: String,
}

/// Reads a call: an event, a block, or one of the calls that wait.
pub(super) fn called(fields: &Fields<'_>) -> Option<Called> {
    Some(Called {
        call: fields.number_or_text("toolCallId")?,
        name: fields.word("name").unwrap_or_default(),
        input: fields.raw("input").unwrap_or("{}").to_owned(),
    })
}

/// One block of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Text(String),
    Thinking(String),
    /// An image, or a block of a type nobody here knows.
    Part(Part),
    Call(Called),
}

/// The blocks of a message's content: a text is one block.
pub(super) fn blocks(raw: Option<&str>) -> Vec<Block> {
    let Some(raw) = raw else { return Vec::new() };
    if let Some(text) = string(raw) {
        return vec![Block::Text(text.into_owned())];
    }
    elements(raw).into_iter().map(block).collect()
}

fn block(raw: &str) -> Block {
    let unknown = |what: &str| Block::Part(Part::Unknown { what: what.to_owned(), raw: whole(raw) });
    if let Some(text) = string(raw) {
        return Block::Text(text.into_owned());
    }
    let Ok(fields) = Fields::read(raw) else { return unknown("") };
    let kind = fields.text("type").unwrap_or_default();
    let text = |name: &str| fields.text(name).map(std::borrow::Cow::into_owned);
    match &*kind {
        "text" => text("text").map_or_else(|| unknown(&kind), Block::Text),
        "thinking" => text("thinking").map_or_else(|| unknown(&kind), Block::Thinking),
        "image" => text("url").map_or_else(|| unknown(&kind), |url| Block::Part(picture(url))),
        "tool_use" | "tool_call" => called(&fields).map_or_else(|| unknown(&kind), Block::Call),
        other => unknown(other),
    }
}

/// An image by its address. What lies elsewhere is fetched by nobody before the person says so.
fn picture(url: String) -> Part {
    let inside = url.strip_prefix("data:").and_then(|rest| {
        let (media_type, data) = rest.split_once(";base64,")?;
        (media_type.starts_with("image/") && !data.is_empty()).then_some((media_type, data))
    });
    match inside {
        Some((media_type, data)) => image(media_type.split(';').next().unwrap_or(media_type), data),
        None => Part::Remote { what: "image".to_owned(), address: url },
    }
}

/// What a tool gave: what is shown, and what it is compared by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Output {
    pub parts: Vec<Part>,
    pub raw: String,
}

/// Reads a tool's content: a text, often JSON in a text, or blocks.
pub(super) fn output(raw: Option<&str>) -> Output {
    let raw = raw.unwrap_or("\"\"");
    let parts = match string(raw) {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![text_part(&pretty(&text).unwrap_or_else(|| text.into_owned()))],
        None if raw.starts_with('[') => blocks(Some(raw)).into_iter().map(as_part).collect(),
        // Neither: a server that sends the value itself.
        None => vec![text_part(&pretty(raw).unwrap_or_else(|| raw.to_owned()))],
    };
    Output { parts, raw: raw.to_owned() }
}

fn as_part(block: Block) -> Part {
    match block {
        Block::Text(text) | Block::Thinking(text) => text_part(&pretty(&text).unwrap_or(text)),
        Block::Part(part) => part,
        Block::Call(called) => Part::Unknown { what: "tool_call".to_owned(), raw: whole(&called.input) },
    }
}

/// Who says a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who {
    System,
    User,
    Agent,
    /// A tool, with the call it answers.
    Tool(String),
    Other(String),
}

/// One message of a history, or of an answer that came whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub who: Who,
    pub blocks: Vec<Block>,
    /// What a tool gave.
    pub output: Option<Output>,
    /// The whole message, as it came.
    pub raw: String,
}

/// Reads a message. `None` where it is no object.
pub(super) fn said(raw: &str) -> Option<Said> {
    let fields = Fields::read(raw).ok()?;
    let content = fields.raw("content");
    let who = match fields.text("role").unwrap_or_default().as_ref() {
        "system" => Who::System,
        "user" => Who::User,
        "assistant" => Who::Agent,
        "tool" => Who::Tool(fields.number_or_text("toolCallId").unwrap_or_default()),
        other => Who::Other(other.to_owned()),
    };
    let is_tool = matches!(who, Who::Tool(_));
    Some(Said {
        who,
        blocks: if is_tool { Vec::new() } else { blocks(content) },
        output: is_tool.then(|| output(content)),
        raw: raw.to_owned(),
    })
}

/// The text of blocks, each on a line of its own.
pub(super) fn text_of(blocks: &[Block]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| if let Block::Text(text) = block { Some(text.as_str()) } else { None })
        .collect();
    texts.join("\n")
}

/// The parts of a message that is shown as it came: texts and pictures, in order.
pub(super) fn parts_of(blocks: Vec<Block>) -> Vec<Part> {
    blocks
        .into_iter()
        .filter_map(|block| match block {
            Block::Text(text) => (!text.is_empty()).then(|| text_part(&text)),
            Block::Part(part) => Some(part),
            Block::Thinking(_) | Block::Call(_) => None,
        })
        .collect()
}
