//! What is sent: addresses, headers and bodies (page §§1, 2 and 4). Bodies are written field by field in a fixed order,
//! so that the same decisions are always the same bytes.

use std::collections::BTreeMap;

use bytes::Bytes;
use contract::{command::SentImage, item::Role, server::ServerOptions, setup::AgentOptionKind};
use http::{
    HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::Serialize;
use serde_json::value::RawValue;
use url::Url;

use super::{agents::Agent, asked::Given, session_object::is_placeholder};
use crate::{
    NewSession, SetupChange,
    headers::{EVENT_STREAM, JSON, add_extra},
    own_tools, paths,
};

/// A request with everything but the token. `None` where the address cannot be sent over HTTP.
pub(super) fn request(
    base: &Url,
    options: &ServerOptions,
    method: Method,
    segments: &[&str],
    query: &[(&str, &str)],
    body: Option<Vec<u8>>,
) -> Option<http::Request<Bytes>> {
    let has_body = body.is_some();
    let address = paths::address(base, segments, query);
    let mut request =
        http::Request::builder().method(method).uri(address).body(body.map(Bytes::from).unwrap_or_default()).ok()?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static(JSON));
    if has_body {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    }
    add_extra(headers, options);
    Some(request)
}

/// Marks a request as one whose answer is a stream.
pub(super) fn as_stream(mut request: http::Request<Bytes>) -> http::Request<Bytes> {
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
    request
}

fn bytes<T: Serialize>(body: &T) -> Option<Vec<u8>> {
    serde_json::to_vec(body).ok()
}

/// A message's content: a text, or blocks where pictures go with it.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text { text: &'a str },
    Image { url: String },
}

fn content<'a>(text: &'a str, images: &[SentImage]) -> Content<'a> {
    if images.is_empty() {
        return Content::Text(text);
    }
    let text = (!text.is_empty()).then_some(Block::Text { text });
    Content::Blocks(text.into_iter().chain(images.iter().map(|image| Block::Image { url: image_url(image) })).collect())
}

/// An image that lies elsewhere is sent by its address, every other inside the message.
fn image_url(image: &SentImage) -> String {
    if image.data.starts_with("https://") {
        image.data.clone()
    } else {
        format!("data:{};base64,{}", image.media_type, image.data)
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: &'a str,
    },
    Tool {
        #[serde(rename = "toolCallId")]
        call: &'a str,
        content: &'a str,
    },
    ToolPermission {
        #[serde(rename = "toolCallId")]
        call: &'a str,
        granted: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
}

/// Which tools are on, and what the options are.
#[derive(Serialize)]
struct AgentBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<ToolBody<'a>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    options: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct ToolBody<'a> {
    name: &'a str,
    trust: bool,
}

/// A setup as it goes to the server. `foreign`: tools that another client declared.
struct SetupBody<'a> {
    agent: AgentBody<'a>,
    tools: Vec<Box<RawValue>>,
}

/// `is_new`: what is not chosen is left out, and is the default then. A change says the default, since options merge.
fn setup<'a>(change: &'a SetupChange, agent: Option<&'a Agent>, foreign: &[String], is_new: bool) -> SetupBody<'a> {
    let offered = agent.map(|agent| agent.offer.options.as_slice()).unwrap_or_default();
    let mut options: BTreeMap<&str, &str> = BTreeMap::new();
    if !is_new {
        let told = offered.iter().filter(|option| option.kind != AgentOptionKind::Secret);
        options.extend(told.map(|option| (option.name.as_str(), option.default.as_str())));
    }
    for option in &change.setup.options {
        let is_secret = agent.is_some_and(|agent| agent.is_secret(&option.name));
        // What stands for a secret would overwrite it.
        let value = option.value.as_deref().filter(|value| agent.is_some() || !is_placeholder(value));
        if let Some(value) = value.filter(|_| !is_secret) {
            options.insert(&option.name, value);
        }
    }
    options.extend(
        change
            .secrets
            .iter()
            .filter(|secret| !is_placeholder(&secret.value))
            .map(|secret| (secret.name.as_str(), secret.value.as_str())),
    );
    let tools = change.setup.tools.iter().map(|tool| ToolBody { name: &tool.name, trust: tool.trusted }).collect();
    let ours = own_tools::specifications(&change.setup.own_tools);
    let foreign = foreign.iter().filter_map(|raw| RawValue::from_string(raw.clone()).ok());
    SetupBody { agent: AgentBody { name: None, tools: Some(tools), options }, tools: foreign.chain(ours).collect() }
}

/// The body of `POST /sessions`.
pub(super) fn create(new: &NewSession, agent: Option<&Agent>) -> Option<Vec<u8>> {
    #[derive(Serialize)]
    struct Create<'a> {
        agent: AgentBody<'a>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        messages: Vec<Message<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tools: Vec<Box<RawValue>>,
    }
    let name = new.agent.as_deref()?;
    let set_up = new.setup.as_ref().map(|change| setup(change, agent, &[], true));
    let (body, tools) = match set_up {
        Some(set_up) => (AgentBody { name: Some(name), ..set_up.agent }, set_up.tools),
        None => (AgentBody { name: Some(name), tools: None, options: BTreeMap::new() }, Vec::new()),
    };
    let system = new.system.as_deref().filter(|text| !text.trim().is_empty());
    let imported = new.imported.iter().map(|message| match message.role {
        Role::System => Message::System { content: &message.text },
        Role::User => Message::User { content: Content::Text(&message.text) },
        Role::Agent => Message::Assistant { content: &message.text },
    });
    let messages = system.map(|content| Message::System { content }).into_iter().chain(imported).collect();
    bytes(&Create { agent: body, messages, tools })
}

/// The body of `PATCH /sessions/:id` (v3-revised, v4).
pub(super) fn change(change: &SetupChange, agent: Option<&Agent>, foreign: &[String]) -> Option<Vec<u8>> {
    #[derive(Serialize)]
    struct Change<'a> {
        agent: AgentBody<'a>,
        tools: Vec<Box<RawValue>>,
    }
    let SetupBody { agent, tools } = setup(change, agent, foreign, false);
    bytes(&Change { agent, tools })
}

/// What a turn begins with.
pub(super) enum Begins<'a> {
    /// A message of the person.
    Message { text: &'a str, images: &'a [SentImage] },
    /// The answers to all that was asked.
    Answers(&'a [Given]),
}

/// The body of `POST /sessions/:id/turns`.
pub(super) fn turn(
    begins: &Begins<'_>,
    stream: &str,
    overrides: Option<(&SetupChange, Option<&Agent>, &[String])>,
) -> Option<Vec<u8>> {
    #[derive(Serialize)]
    struct Turn<'a> {
        messages: Vec<Message<'a>>,
        stream: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<AgentBody<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<Box<RawValue>>>,
    }
    let messages = match begins {
        Begins::Message { text, images } => vec![Message::User { content: content(text, images) }],
        Begins::Answers(answers) => answers
            .iter()
            .map(|given| match given {
                Given::Result { call, content } => Message::Tool { call, content },
                Given::Permission { call, granted, reason } => {
                    Message::ToolPermission { call, granted: *granted, reason: reason.as_deref() }
                }
            })
            .collect(),
    };
    let set_up = overrides.map(|(change, agent, foreign)| setup(change, agent, foreign, false));
    let (agent, tools) = set_up.map_or((None, None), |set_up| (Some(set_up.agent), Some(set_up.tools)));
    bytes(&Turn { messages, stream, agent, tools })
}

/// One input of v4 (`POST /sessions/:id/input`).
pub(super) enum Input<'a> {
    /// A message of the person.
    Message { text: &'a str, images: &'a [SentImage] },
    /// An answer.
    Answer(&'a Given),
    /// Stop at the next point where that is possible.
    Cancel,
}

/// The body of `POST /sessions/:id/input`.
pub(super) fn input(input: &Input<'_>) -> Option<Vec<u8>> {
    #[derive(Serialize)]
    #[serde(tag = "type", rename_all = "snake_case")]
    enum Body<'a> {
        User {
            content: Content<'a>,
        },
        Tool {
            #[serde(rename = "toolCallId")]
            call: &'a str,
            content: &'a str,
        },
        Permission {
            #[serde(rename = "toolCallId")]
            call: &'a str,
            granted: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'a str>,
        },
        Cancel,
    }
    bytes(&match input {
        Input::Message { text, images } => Body::User { content: content(text, images) },
        Input::Answer(Given::Result { call, content }) => Body::Tool { call, content },
        Input::Answer(Given::Permission { call, granted, reason }) => {
            Body::Permission { call, granted: *granted, reason: reason.as_deref() }
        }
        Input::Cancel => Body::Cancel,
    })
}
