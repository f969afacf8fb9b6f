//! From what the wire says is asked to the request that the card shows.

use contract::{
    Millis,
    event::RequestSeed,
    item::Text,
    request::{Choice, ChoiceKind, Request, RequestFlag, RequestKind, RequestState},
    server::ServerId,
    session::SessionId,
};

use super::{
    arguments::{argument_text, has_hidden},
    digest::{Bound, digest},
    judged::judged,
};

/// A card's texts reach the page whole up to this many bytes; beyond, the page reads the rest before it allows anything.
pub const CARD_INLINE_BYTES: usize = 256 * 1024;

/// Whose requests these are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The session here.
    pub session: SessionId,
    /// The session's id at its server.
    pub remote_session: String,
    /// The server.
    pub server: ServerId,
    /// The server's name.
    pub server_name: String,
}

/// A request with its long texts whole, as `(handle, text)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// What the page gets.
    pub request: Request,
    /// Texts that reach the page by handle.
    pub payloads: Vec<(String, String)>,
}

/// Makes the card for a seed.
#[must_use]
pub fn card(owner: &Owner, seed: &RequestSeed, agent_path: Vec<String>, asked_at: Millis) -> Card {
    let mut payloads = Vec::new();
    let arguments = argument_text(&seed.arguments);
    let mut flags = arguments.flags;
    if seed.too_large && !flags.contains(&RequestFlag::TooLarge) {
        flags.push(RequestFlag::TooLarge);
    }
    let hidden_elsewhere = [seed.tool.as_deref(), seed.work_dir.as_deref(), seed.source.as_deref()]
        .into_iter()
        .flatten()
        .chain(seed.questions.iter().map(|question| question.text.as_str()))
        .any(has_hidden);
    if hidden_elsewhere && !flags.contains(&RequestFlag::HiddenCharacters) {
        flags.push(RequestFlag::HiddenCharacters);
    }
    let command = seed.command.clone().or(arguments.command);
    let (risk, marks) = judged(seed, command.as_deref(), &arguments.text);
    let shown_lines = command.as_deref().unwrap_or(&arguments.text).lines().count().max(1);
    let mut text = |what: &str, whole: String| {
        let chars = whole.chars().count() as u64;
        if whole.len() <= CARD_INLINE_BYTES {
            return Text { text: whole, chars, handle: None };
        }
        let handle = format!("request:{}#{what}", seed.id);
        let cut = crate::session::reduce::transcript::floor_char_boundary(&whole, CARD_INLINE_BYTES);
        let head = whole.get(..cut).unwrap_or_default().to_owned();
        payloads.push((handle.clone(), whole));
        Text { text: head, chars, handle: Some(handle) }
    };
    let request = Request {
        id: seed.id.clone(),
        session: owner.session,
        server: owner.server.clone(),
        server_name: owner.server_name.clone(),
        kind: seed.kind,
        tool: seed.tool.clone(),
        source: seed.source.clone(),
        item: seed.item.clone(),
        agent_path,
        command: command.map(|command| text("command", command)),
        work_dir: seed.work_dir.clone(),
        arguments: text("arguments", arguments.text),
        lines: u32::try_from(shown_lines).unwrap_or(u32::MAX),
        questions: seed.questions.clone(),
        choices: seed.choices.clone(),
        state: if seed.answerable { RequestState::Open } else { RequestState::Announced },
        flags,
        digest: digest(&Bound {
            server: &owner.server,
            session: &owner.remote_session,
            request: &seed.id,
            kind: seed.kind,
            tool: seed.tool.as_deref(),
            work_dir: seed.work_dir.as_deref(),
            arguments: &seed.arguments,
        }),
        asked_at,
        deadline: seed.deadline_ms.map(|wait| asked_at.saturating_add(i64::try_from(wait).unwrap_or(i64::MAX))),
        group: seed.group.clone(),
        own_tool: seed.own_tool.clone(),
        risk,
        marks,
    };
    Card { request, payloads }
}

/// The seed of a fallback card: the server waits for an id that nothing here explains. What cannot be seen cannot
/// be allowed, so it can only be refused.
#[must_use]
pub fn fallback_seed(id: &str) -> RequestSeed {
    RequestSeed {
        id: id.to_owned(),
        kind: RequestKind::Fallback,
        item: None,
        tool: None,
        source: None,
        arguments: String::new(),
        command: None,
        work_dir: None,
        questions: Vec::new(),
        choices: vec![Choice {
            id: "deny".into(),
            kind: ChoiceKind::Deny,
            label: None,
            scope: None,
            takes_reason: true,
        }],
        answerable: true,
        deadline_ms: None,
        too_large: false,
        group: None,
        own_tool: None,
    }
}
