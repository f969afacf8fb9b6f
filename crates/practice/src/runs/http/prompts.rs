//! The requests whose answers are runs: prompts, resuming, and side questions (§4 and §8).

use std::{collections::VecDeque, sync::Arc};

use axum::{extract::State, response::Response};
use bytes::Bytes;
use serde_json::json;
use tokio::sync::mpsc;

use super::{Refused, Reply, schema};
use crate::{
    runs::{
        desk::{Desk, Ends},
        event::frame,
        free,
        player::{self, Begin},
        shape::{Failure, Message},
        stream::{self, Item},
    },
    scenario::Step,
    world::World,
};

const BUSY: &str = "A run is already in progress; wait for it or cancel it";
const ASK_LATER: &str = "A run is already in progress; ask again when it ends";

/// A run may begin.
fn free_to_run(desk: &Desk, busy: &str) -> Result<(), Refused> {
    if desk.is_busy() {
        return Err(Refused::busy(busy));
    }
    schema::ready(desk)
}

/// A stream of one frame: what is refused once the 200 is out.
fn failed(world: &Arc<World>, session: &str, error: &str, message: &str) -> Response {
    let (out, frames) = mpsc::unbounded_channel();
    let failure = Failure { error: error.to_owned(), message: message.to_owned() };
    // The receiver is right here.
    let _ = out.send(Item::Frame(frame("error", &failure)));
    stream::answer(world, session, frames, &Ends::default())
}

fn started(world: &Arc<World>, begin: Begin) -> Reply {
    let session = begin.session.clone();
    let (frames, ends) = player::begin(world, begin).ok_or_else(|| Refused::busy(BUSY))?;
    Ok(stream::answer(world, &session, frames, &ends))
}

/// The session a run would go to, and whether another process holds it.
fn target(desk: &Desk) -> Result<(String, bool), Refused> {
    let session = desk.current().ok_or_else(|| Refused::new(500, "internal", "There is no current session"))?;
    Ok((session.id.clone(), session.locked))
}

/// `POST /prompts`.
pub(super) async fn prompt(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let prompt = schema::prompt(&body)?;
    world.runs.look(|desk| free_to_run(desk, BUSY))?;
    prompt.prepared()?;
    let (session, locked) = world.runs.look(target)?;
    if locked {
        return Ok(failed(
            &world,
            &session,
            "locked",
            "This session is open in another process, so it is read-only here.",
        ));
    }
    let sees = world.runs.look(|desk| desk.active_model().map(|model| (model.multimodal, model.name.clone())));
    if let Some((false, name)) = sees.filter(|_| !prompt.pictures.is_empty()) {
        let message = format!("{name} does not accept images; choose a multimodal model or drop the images");
        return Ok(failed(&world, &session, "invalid", &message));
    }
    let steps = world.runs.change(|desk| {
        let session = desk.session_mut(&session)?;
        let steps = scripted(&mut session.script).unwrap_or_else(|| free::steps(&prompt.text));
        let (images, pictures) = (prompt.pictures.len(), prompt.pictures.clone());
        session.push(Message { images, pictures, ..Message::of("user", &prompt.text) });
        Some(steps)
    });
    let begin = Begin {
        session,
        steps: steps.unwrap_or_default(),
        message: prompt.text,
        output: String::new(),
        options: prompt.options,
        aside: false,
    };
    started(&world, begin)
}

/// The part of a script that one prompt plays: up to the next message of the person.
fn scripted(script: &mut VecDeque<Step>) -> Option<VecDeque<Step>> {
    if script.is_empty() {
        return None;
    }
    if script.front().is_some_and(free::opens) {
        script.pop_front();
    }
    let end = script.iter().position(free::opens).unwrap_or(script.len());
    Some(script.drain(..end).collect())
}

/// `POST /runs/resume`. Nothing to resume is a 409 or an `error` frame, as the server's manner has it (§8).
pub(super) async fn resume(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let options = schema::resume(&body)?;
    world.runs.look(|desk| free_to_run(desk, BUSY))?;
    let (session, locked) = world.runs.look(target)?;
    if locked {
        return Ok(failed(
            &world,
            &session,
            "locked",
            "This session is open in another process, so it is read-only here.",
        ));
    }
    let (left, refuses) = world.runs.change(|desk| (desk.take_left(), desk.manner.refuses_idle_resume()));
    let Some((steps, output)) = left else {
        let empty = world.runs.look(|desk| desk.current().is_none_or(|session| session.messages.is_empty()));
        let message = if empty {
            "The session has no messages, so there is nothing to resume."
        } else {
            "The last request finished, so there is nothing to resume."
        };
        if refuses {
            return Err(Refused::new(409, "nothing_to_do", message));
        }
        return Ok(failed(&world, &session, "nothing_to_do", message));
    };
    started(&world, Begin { session, steps, message: String::new(), output, options, aside: false })
}

/// `POST /sessions/current/ask/stream`: a side question, in the frames of a prompt. Nothing of it is stored.
pub(super) async fn ask_stream(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let (question, options) = schema::side_question(&body)?;
    world.runs.look(|desk| free_to_run(desk, ASK_LATER))?;
    let (session, _) = world.runs.look(target)?;
    let steps = free::steps(&question);
    started(&world, Begin { session, steps, message: question, output: String::new(), options, aside: true })
}

/// `POST /sessions/current/ask`: the same in one answer.
pub(super) async fn ask(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let (question, options) = schema::side_question(&body)?;
    world.runs.look(|desk| free_to_run(desk, ASK_LATER))?;
    let (session, _) = world.runs.look(target)?;
    let steps = free::steps(&question);
    let begin = Begin { session, steps, message: question, output: String::new(), options, aside: true };
    let (mut frames, ends) = player::begin(&world, begin).ok_or_else(|| Refused::busy(ASK_LATER))?;
    // The run ends with this request.
    let _gone = ends.gone.drop_guard();
    let mut last = Bytes::new();
    while let Some(item) = frames.recv().await {
        if let Item::Frame(bytes) = item {
            last = bytes;
        }
    }
    answered(&last)
}

/// Reads the terminal frame of a side question.
fn answered(last: &Bytes) -> Reply {
    let text = String::from_utf8_lossy(last).into_owned();
    let payload = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap_or_default();
    let payload: serde_json::Value = serde_json::from_str(payload).unwrap_or_default();
    let word = |name: &str| payload.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    if text.starts_with("event: error") {
        let (status, error) = if word("error") == "timeout" { (504, "timeout") } else { (502, "run") };
        return Err(Refused::new(status, error, word("message")));
    }
    Ok(super::json(&json!({"answer": word("text")})))
}
