//! `POST /sessions/{id}/turns` of v3 and v3-revised: a message, or the answers to all calls that wait (§2 and §3).

use std::{collections::BTreeSet, sync::Arc};

use axum::extract::{Path, State};
use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::mpsc;

use super::{Refused, Reply, json_answer, only, read};
use crate::{
    turns::{
        TurnsManner,
        config::{Change, Party},
        desk::{Answer, HeldCall, Session},
        log::Mode,
        player::{self, Outcome, Turned, Work},
        shape::{Content, TurnOut},
        stream,
    },
    world::World,
};

/// One message of a turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", rename_all_fields = "camelCase")]
enum Said {
    User {
        content: Content,
    },
    Tool {
        tool_call_id: String,
        content: Content,
    },
    ToolPermission {
        tool_call_id: String,
        granted: bool,
        #[serde(default)]
        reason: Option<String>,
    },
    /// Roles nobody knows are passed over.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Turn {
    #[serde(default)]
    messages: Vec<Said>,
    #[serde(default)]
    stream: Option<String>,
    #[serde(flatten)]
    change: Change,
}

fn mode(manner: &TurnsManner, word: Option<&str>) -> Result<Mode, Refused> {
    let mode = Mode::of(word.unwrap_or("none"));
    let offered = |mode: &Mode| match mode {
        Mode::Delta => manner.delta,
        Mode::Message => manner.message,
        Mode::None => manner.none,
    };
    mode.filter(offered).ok_or_else(|| Refused::new(400, "Stream mode not supported"))
}

fn answers(said: &[Said]) -> Vec<(String, Answer)> {
    let answer = |said: &Said| match said.clone() {
        Said::Tool { tool_call_id, content } => Some((tool_call_id, Answer::Result(content, None))),
        Said::ToolPermission { tool_call_id, granted: true, .. } => Some((tool_call_id, Answer::Granted)),
        Said::ToolPermission { tool_call_id, reason, .. } => Some((tool_call_id, Answer::Denied(reason))),
        Said::User { .. } | Said::Other => None,
    };
    said.iter().filter_map(answer).collect()
}

/// The answer is of the kind the call waits for.
fn fits(call: &HeldCall, answer: &Answer) -> bool {
    matches!(answer, Answer::Result(..)) == (call.party != Party::Person)
}

/// v3-revised: exactly one answer per call that waits, and nothing else (§3).
fn strict(session: &Session, user: Option<&Content>, given: &[(String, Answer)]) -> Result<(), Refused> {
    if session.is_active() {
        return Err(Refused::new(409, "A turn is active"));
    }
    let calls = session.held.iter().flat_map(|held| &held.calls);
    let waiting: BTreeSet<&str> = calls.clone().map(|call| call.id.as_str()).collect();
    let named: BTreeSet<&str> = given.iter().map(|(id, _)| id.as_str()).collect();
    if waiting.is_empty() && given.is_empty() && user.is_some() {
        return Ok(());
    }
    if user.is_some() || named.len() != given.len() || named != waiting || waiting.is_empty() {
        return Err(Refused::new(400, "Exactly one answer per pending tool call"));
    }
    let fit = |(id, answer): &(String, Answer)| calls.clone().any(|call| call.id == *id && fits(call, answer));
    if given.iter().all(fit) { Ok(()) } else { Err(Refused::new(400, "An answer of the wrong kind")) }
}

/// What a turn does with what it was sent. v3 asks for nothing and gets nothing done with what does not fit (§7.7).
fn work(session: &mut Session, user: Option<Content>, given: Vec<(String, Answer)>) -> Work {
    let Some(held) = &session.held else {
        return user.map_or(Work::Nothing, Work::Message);
    };
    let mut settled: Vec<(HeldCall, Answer)> = Vec::new();
    for (id, answer) in given {
        let call = held.calls.iter().find(|call| call.id == id);
        // The first of several answers counts.
        if let Some(call) = call.filter(|_| !settled.iter().any(|(known, _)| known.id == id)) {
            settled.push((call.clone(), answer));
        }
    }
    if user.is_some() || settled.len() < held.calls.len() {
        return Work::Nothing;
    }
    match session.held.take() {
        Some(held) => Work::Answers { held, answers: settled },
        None => Work::Nothing,
    }
}

/// Runs a turn.
pub(super) async fn turn(State(world): State<Arc<World>>, Path(id): Path<String>, body: Bytes) -> Reply {
    only(&world, false)?;
    let known = world.turns.look(|desk| desk.session(&id).is_some());
    if !known {
        return Err(Refused::no_session());
    }
    let Turn { messages, stream: wanted, change } = read(&world, &body)?;
    let (out, frames) = mpsc::unbounded_channel();
    let (mode, work, place) = world.turns.change(|desk| {
        let mode = mode(&desk.manner, wanted.as_deref())?;
        let revised = desk.manner.is_revised();
        let session = desk.session_mut(&id).ok_or_else(Refused::no_session)?;
        let given = answers(&messages);
        let user = messages.into_iter().find_map(|said| match said {
            Said::User { content } => Some(content),
            _ => None,
        });
        if revised {
            strict(session, user.as_ref(), &given)?;
        } else {
            // The draft has no overrides any more; these persist.
            session.setup.apply(change);
        }
        let work = work(session, user, given);
        if mode == Mode::None && matches!(work, Work::Nothing) {
            return Err(Refused::BROKEN);
        }
        Ok((mode, work, player::enter(desk, &id, Some(out.clone()))))
    })?;
    let outcome = player::begin(&world, &id, work, place, Turned { mode, out });
    if mode != Mode::None {
        return Ok(stream::turn(&world, &id, mode, frames));
    }
    match outcome.await {
        Ok(Outcome::Stopped { reason, messages, pending }) => {
            let revised = world.turns.look(|desk| desk.manner.is_revised());
            let pending = (revised && reason == "tool_use").then_some(pending);
            Ok(json_answer(&TurnOut { stop_reason: reason, messages, pending }))
        }
        Ok(Outcome::Failed) | Err(_) => Err(Refused::BROKEN),
    }
}
