//! The second channel of a run: what it waits for, answers, steering and stopping (§6 and §8).

use std::sync::Arc;

use axum::extract::State;
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Refused, Reply,
    schema::{self, Fields},
};
use crate::{
    runs::{
        desk::{Desk, Settled},
        shape::PendingOut,
    },
    world::World,
};

#[derive(Serialize)]
struct RunState {
    running: bool,
    pending: Option<PendingOut>,
}

/// `GET /runs/current`: of the current session alone.
pub(super) async fn current(State(world): State<Arc<World>>) -> Reply {
    let state = world.runs.look(|desk| {
        let run = desk.current().and_then(|session| session.run.as_ref());
        let pending = run.and_then(|run| run.pending.as_ref()).filter(|pending| pending.settled.is_none());
        RunState { running: run.is_some(), pending: pending.map(|pending| pending.shown.clone()) }
    });
    Ok(super::json(&state))
}

#[derive(Serialize)]
struct Resumable {
    resumable: bool,
    kind: Option<String>,
    description: Option<String>,
}

/// `GET /runs/resumable`. While a run goes on the real server cannot say, and fails.
pub(super) async fn resumable(State(world): State<Arc<World>>) -> Reply {
    world.runs.look(|desk| {
        schema::ready(desk)?;
        if desk.is_busy() {
            let message = "Agent cannot start a new request while its current phase is 'running_tool'";
            return Err(Refused::new(500, "internal", message));
        }
        let left = desk.current().and_then(|session| session.left.as_ref());
        Ok(super::json(&Resumable {
            resumable: left.is_some(),
            kind: left.map(|left| left.kind.clone()),
            description: left.map(|left| left.description.clone()),
        }))
    })
}

/// Settles what the current run waits for, once.
fn settle(desk: &mut Desk, kind: &str, call: &str, settled: Settled) -> bool {
    let pending = desk.run_mut().and_then(|run| run.pending.as_mut());
    let Some(pending) = pending else { return false };
    if pending.shown.kind != kind || pending.shown.call_id != call || pending.settled.is_some() {
        return false;
    }
    pending.settled = Some(settled);
    true
}

/// `POST /runs/approvals`. `remember` is about this exact text, until the server ends.
pub(super) async fn approval(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let mut fields = Fields::of(&body, false)?;
    let call = fields.text("call_id", usize::MAX);
    let approve = fields.strict_bool("approve", true).unwrap_or_default();
    let remember = fields.strict_bool("remember", false).unwrap_or_default();
    fields.done()?;
    let resolved = world.runs.change(|desk| {
        let settled = if approve { Settled::Approved } else { Settled::Denied };
        let resolved = settle(desk, "approval", &call, settled);
        let pending = desk.current().and_then(|session| session.run.as_ref()?.pending.as_ref());
        let command = pending.and_then(|pending| pending.shown.command.clone());
        if resolved && approve && remember {
            desk.remembered.extend(command);
        }
        resolved
    });
    Ok(super::json(&json!({"resolved": resolved})))
}

/// `POST /runs/questions`. `null` declines; a blank answer is refused where something waits for it.
pub(super) async fn question(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let mut fields = Fields::of(&body, false)?;
    let call = fields.text("call_id", usize::MAX);
    let answer = fields.text_or_null("answer");
    fields.done()?;
    let waits = |desk: &Desk| {
        let pending = desk.current()?.run.as_ref()?.pending.as_ref()?;
        (pending.settled.is_none() && pending.shown.kind == "question" && pending.shown.call_id == call).then_some(())
    };
    let blank = answer.as_deref().is_some_and(|answer| answer.trim().is_empty());
    let resolved = world.runs.change(|desk| {
        if blank && waits(desk).is_some() {
            return Err(Refused::invalid("An answer must not be blank; decline the question instead"));
        }
        Ok(settle(desk, "question", &call, answer.map_or(Settled::Declined, Settled::Answered)))
    })?;
    Ok(super::json(&json!({"resolved": resolved})))
}

#[derive(Serialize)]
struct Steered {
    steered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Option<String>>,
}

/// `POST /runs/steer`: queued until the running step is over. 0.1.x takes only the text and says only `steered`.
pub(super) async fn steer(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let newer = world.runs.look(|desk| desk.manner.is_newer());
    let mut fields = Fields::of(&body, false)?;
    let text = fields.text("text", usize::MAX);
    let (pictures, mentions) =
        if newer { (fields.pictures(), fields.bool("mentions", false)) } else { (Vec::new(), false) };
    fields.done()?;
    schema::pictures_are_fine(&pictures)?;
    let taken = world.runs.change(|desk| {
        schema::ready(desk)?;
        let blind = desk.active_model().is_some_and(|model| !model.multimodal);
        if !pictures.is_empty() && blind {
            return Err(Refused::invalid("The model does not accept images; drop them"));
        }
        let said = if mentions { super::catalogue::resolved(&text) } else { text };
        let run = desk.run_mut().filter(|run| !run.stopping);
        Ok(run.map(|run| {
            run.steers.push_back(said.clone());
            said
        }))
    })?;
    Ok(super::json(&Steered { steered: taken.is_some(), text: newer.then_some(taken) }))
}

/// `POST /runs/cancel`. A run that waits for an answer goes on waiting, and ends once it has one (§8).
pub(super) async fn cancel(State(world): State<Arc<World>>) -> Reply {
    let cancelled = world.runs.change(|desk| {
        let Some(run) = desk.run_mut() else { return false };
        run.stopping = true;
        if run.pending.is_none() {
            run.ends.cancel.cancel();
        }
        true
    });
    let answer: Value = json!({"cancelled": cancelled});
    Ok(super::json(&answer))
}
