//! Sessions: one is current, and everything but the list is about it (§3, §7, §8).

use std::{cmp::Reverse, sync::Arc};

use axum::extract::{Path, Query, State};
use bytes::Bytes;
use serde::Serialize;

use super::{
    Refused, Reply, json,
    schema::{self, Fields},
};
use crate::{
    http::{Pairs, first},
    runs::{
        desk::{Desk, Session},
        shape::{CompactionOut, Context, CurrentOut, Message, SessionOut, Share, Stats},
    },
    world::World,
};

const BUSY: &str = "A run is already in progress on this client. Wait for it, or close it.";

/// The current session of a server that has a model.
pub(super) fn current_of(desk: &Desk) -> Result<&Session, Refused> {
    schema::ready(desk)?;
    desk.current().ok_or_else(|| Refused::new(500, "internal", "There is no current session"))
}

fn current_of_mut(desk: &mut Desk) -> Result<&mut Session, Refused> {
    schema::ready(desk)?;
    desk.current_mut().ok_or_else(|| Refused::new(500, "internal", "There is no current session"))
}

fn idle(session: &Session) -> Result<(), Refused> {
    if session.run.is_some() { Err(Refused::busy(BUSY)) } else { Ok(()) }
}

fn shown(session: &Session) -> CurrentOut {
    let Session { id, title, locked, usage, .. } = session;
    CurrentOut { id: id.clone(), title: title.clone(), locked: *locked, usage: *usage }
}

/// The row that creating and renaming answer with: without times (edge 17).
fn bare(session: &Session, newer: bool) -> SessionOut {
    let running = newer.then_some(false);
    let (id, title) = (session.id.clone(), session.title.clone());
    SessionOut { id, title, created_at: None, updated_at: None, current: true, running }
}

#[derive(Serialize)]
struct Rows {
    sessions: Vec<SessionOut>,
}

/// `GET /sessions`: what is stored, newest first.
pub(super) async fn list(State(world): State<Arc<World>>, Query(pairs): Query<Pairs>) -> Reply {
    let limit = schema::bounded(&pairs, "limit", 20)?;
    world.count(|counters| counters.lists += 1);
    world.runs.look(|desk| {
        schema::ready(desk)?;
        let mut stored: Vec<&Session> = desk.sessions.iter().filter(|session| session.updated_at.is_some()).collect();
        stored.sort_by_key(|session| Reverse(session.updated_at.clone()));
        let newer = desk.manner.is_newer();
        let row = |session: &Session| SessionOut {
            id: session.id.clone(),
            title: session.title.clone(),
            created_at: Some(session.created_at.clone()),
            updated_at: session.updated_at.clone(),
            current: session.id == desk.current,
            running: newer.then_some(session.run.is_some()),
        };
        Ok(json(&Rows { sessions: stored.into_iter().take(limit).map(row).collect() }))
    })
}

/// 0.1.x refuses to leave a session while it runs (§8).
fn may_leave(desk: &Desk) -> Result<(), Refused> {
    schema::ready(desk)?;
    if desk.is_busy() && !desk.manner.is_newer() {
        return Err(Refused::busy("A run is already in progress; wait for it or cancel it"));
    }
    Ok(())
}

/// `POST /sessions`.
pub(super) async fn create(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let mut fields = Fields::of(&body, true)?;
    let title = fields.text_or_null("title").filter(|title| !title.is_empty());
    if title.as_ref().is_some_and(|title| title.chars().count() > 500) {
        fields.refuse("title", "String should have at most 500 characters");
    }
    fields.done()?;
    world.runs.look(may_leave)?;
    world.runs.new_session(title);
    let created = world.runs.look(|desk| current_of(desk).map(|session| bare(session, desk.manner.is_newer())))?;
    schema::with_status(201, Ok(json(&created)))
}

/// `GET /sessions/current`.
pub(super) async fn current(State(world): State<Arc<World>>) -> Reply {
    world.runs.look(|desk| Ok(json(&shown(current_of(desk)?))))
}

/// `POST /sessions/{id}/open`.
pub(super) async fn open(State(world): State<Arc<World>>, Path(id): Path<String>) -> Reply {
    world.runs.change(|desk| {
        may_leave(desk)?;
        if desk.session(&id).is_none() {
            return Err(Refused::not_found(format!("Cannot open session '{id}': Unknown session: {id}")));
        }
        desk.make_current(&id);
        Ok(json(&shown(current_of(desk)?)))
    })
}

/// `POST /sessions/current/rename`.
pub(super) async fn rename(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let mut fields = Fields::of(&body, false)?;
    let title = fields.text("title", 500);
    fields.done()?;
    let title = title.trim();
    if title.is_empty() || title.chars().count() > 200 {
        return Err(Refused::invalid("Session title must contain between 1 and 200 characters"));
    }
    entitle(&world, |_| Some(title.to_owned()))
}

/// `POST /sessions/current/name`: the model finds a title, where there is something to find one for.
pub(super) async fn name(State(world): State<Arc<World>>) -> Reply {
    entitle(&world, |session| {
        let asked = session.messages.iter().find(|message| message.role == "user")?;
        let words: Vec<&str> = asked.text.split_whitespace().take(6).collect();
        Some(format!("About: {}", words.join(" ")))
    })
}

fn entitle(world: &World, title: impl FnOnce(&Session) -> Option<String>) -> Reply {
    world.runs.change(|desk| {
        let newer = desk.manner.is_newer();
        let session = current_of_mut(desk)?;
        if let Some(title) = title(session) {
            session.title = Some(title);
            session.touch();
        }
        Ok(json(&bare(session, newer)))
    })
}

/// `POST /sessions/current/fork`. The copy does not become current.
pub(super) async fn fork(State(world): State<Arc<World>>) -> Reply {
    let id = world.runs.next_id();
    world.runs.change(|desk| {
        let session = current_of(desk)?;
        idle(session)?;
        let mut copy = Session {
            id,
            title: session.title.as_ref().map(|title| format!("{title} (fork)")),
            created_at: crate::session::now(),
            messages: session.messages.clone(),
            seen_from: session.seen_from,
            ..Session::default()
        };
        copy.touch();
        let answer = json(&shown(&copy));
        desk.sessions.push(copy);
        Ok(answer)
    })
}

/// `POST /sessions/current/compact`: sums up what the model still sees, if that is more than one exchange.
pub(super) async fn compact(State(world): State<Arc<World>>) -> Reply {
    world.runs.change(|desk| {
        let session = current_of_mut(desk)?;
        idle(session)?;
        let compressed = session.messages.len() - session.seen_from;
        if compressed < 4 {
            return Ok(json(&CompactionOut::default()));
        }
        let asked = session.messages.iter().skip(session.seen_from).filter(|message| message.role == "user");
        let asked: Vec<&str> = asked.map(|message| message.text.as_str()).collect();
        let summary = format!("So far the person asked: {}", asked.join("; "));
        session.seen_from = session.messages.len();
        session.push(Message::of("summary", &summary));
        Ok(json(&CompactionOut { applied: true, summary, compressed, kept: 0 }))
    })
}

/// `GET /sessions/current/context`: `null` before a request was measured.
pub(super) async fn context(State(world): State<Arc<World>>) -> Reply {
    world.count(|counters| counters.measured += 1);
    world.runs.look(|desk| {
        let session = current_of(desk)?;
        if session.usage.requests == 0 {
            return Ok(json(&()));
        }
        let seen = session.messages.get(session.seen_from..).unwrap_or_default();
        let mut shares = vec![Share { name: "System prompt", tokens: 520, items: 1 }];
        let named = [("user", "User messages"), ("assistant", "Assistant messages"), ("tool", "Tool output")];
        for (role, name) in named {
            let of_role: Vec<_> = seen.iter().filter(|message| message.role == role).collect();
            if !of_role.is_empty() {
                let tokens = of_role.iter().map(|message| message.text.len() as u64 / 4 + 1).sum();
                shares.push(Share { name, tokens, items: of_role.len() });
            }
        }
        let window = desk.active_model().map_or(0, |model| model.context_window);
        let used = session.usage.context_tokens;
        let context =
            Context { window, used, measured_by: "~4 chars/token", shares, partial: false, from_provider: true };
        Ok(json(&context))
    })
}

#[derive(Serialize)]
struct History<'a> {
    messages: &'a [Message],
}

/// `GET /sessions/current/history`: what the model still sees, or all of it.
pub(super) async fn history(State(world): State<Arc<World>>, Query(pairs): Query<Pairs>) -> Reply {
    let full = match first(&pairs, "full") {
        None | Some("false" | "0") => false,
        Some("true" | "1") => true,
        Some(_) => {
            let problem = "full: Input should be a valid boolean, unable to interpret input";
            return Err(Refused::new(422, "invalid", problem));
        }
    };
    world.count(|counters| counters.lists += 1);
    world.runs.look(|desk| {
        let session = current_of(desk)?;
        if session.messages.is_empty() {
            return Err(Refused::not_found(format!("Session {} has no messages yet", session.id)));
        }
        let from = if full { 0 } else { session.seen_from };
        Ok(json(&History { messages: session.messages.get(from..).unwrap_or_default() }))
    })
}

fn totals(session: &Session) -> Stats {
    let usage = session.usage;
    Stats {
        id: session.id.clone(),
        entries: session.messages.len(),
        requests: usage.requests,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: 0,
        reasoning_tokens: 0,
        total_tokens: usage.input_tokens + usage.output_tokens,
        cache_share: (usage.requests > 0).then_some(0.0),
    }
}

/// `GET /sessions/current/stats`.
pub(super) async fn stats(State(world): State<Arc<World>>) -> Reply {
    world.runs.look(|desk| Ok(json(&totals(current_of(desk)?))))
}

#[derive(Serialize)]
struct AllStats {
    stats: Vec<Stats>,
}

/// `GET /sessions/stats?ids=a,b`.
pub(super) async fn stats_of(State(world): State<Arc<World>>, Query(pairs): Query<Pairs>) -> Reply {
    let ids = crate::http::all(&pairs, "ids");
    world.runs.look(|desk| {
        schema::ready(desk)?;
        let stats = ids.iter().filter_map(|id| desk.session(id.trim())).map(totals).collect();
        Ok(json(&AllStats { stats }))
    })
}
