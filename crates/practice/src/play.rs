//! The player: one task per session that works through its program, one step after the other.
//!
//! A program is flat: what follows from an answer is put in front of the rest. So a restart needs to know only the
//! items that are left and the one that was being played.

mod act;
mod goal;
mod say;

pub(crate) use act::emit_as_is;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::{
    Pace,
    scenario::{Step, free_play},
    session::{Cell, Held, Input, Item, Phase, State, post},
    voice,
};

/// What the player does next.
enum Next {
    Play(Box<Item>),
    Resume(Box<Held>),
    Again,
    Wait,
    Over,
}

/// Plays a session until it ends or the server stops.
pub(crate) async fn run(cell: Arc<Cell>, stop: CancellationToken) {
    loop {
        let mut pulse = cell.pulse();
        let (next, cancel) = cell.change(|state| {
            let next = next(state);
            (next, state.turn.as_ref().map(|turn| turn.cancel.clone()).unwrap_or_default())
        });
        let playing = async {
            match next {
                Next::Play(item) => perform(&cell, *item).await,
                Next::Resume(held) => act::answered(&cell, *held).await,
                Next::Again => {}
                Next::Over => return true,
                Next::Wait => {
                    // The change above is a pulse of its own.
                    pulse.mark_unchanged();
                    if !cell.look(has_work) {
                        // A closed pulse means that the session is gone.
                        return pulse.changed().await.is_err();
                    }
                }
            }
            false
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = cancel.cancelled() => cell.change(stopped),
            over = playing => if over { return },
        }
    }
}

fn has_work(state: &State) -> bool {
    !state.program.inbox.is_empty() || state.profile.phase == Phase::Terminated
}

fn stopped(state: &mut State) {
    state.gate.waiting = false;
    if state.turn.is_some() {
        state.program.items.clear();
        state.end_turn("cancelled", true);
    }
}

fn next(state: &mut State) -> Next {
    if state.profile.phase == Phase::Terminated {
        return Next::Over;
    }
    if state.turn.is_none() { between_turns(state) } else { within_turn(state) }
}

fn between_turns(state: &mut State) -> Next {
    match state.program.items.front().map(|item| item.step.clone()) {
        Some(Step::User { text }) => {
            state.program.items.pop_front();
            let id = state.event_id();
            state.program.message.clone_from(&text);
            state.begin_turn();
            state.emit_as(None, &id, "user.message", serde_json::json!({"content": voice::blocks(&text)}), None);
            state.emit(None, "session.status_running", voice::running(state.manner.form));
            Next::Again
        }
        Some(Step::WaitForMessage) => match state.program.inbox.pop_front() {
            Some(input) => {
                state.program.items.pop_front();
                start(state, &input);
                Next::Again
            }
            None => Next::Wait,
        },
        Some(_) => {
            state.begin_turn();
            state.emit(None, "session.status_running", voice::running(state.manner.form));
            Next::Again
        }
        None => match state.program.inbox.pop_front() {
            Some(input) => {
                let steps = match &input.outcome {
                    Some(goal) => goal::steps(goal),
                    None => free_play::steps(&input.text),
                };
                state.program.items.extend(steps.into_iter().map(|step| Item { thread: None, step }));
                start(state, &input);
                Next::Again
            }
            None => Next::Wait,
        },
    }
}

fn start(state: &mut State, input: &Input) {
    state.program.message.clone_from(&input.text);
    state.program.answer.clear();
    state.begin_turn();
    state.emit(None, "session.status_running", voice::running(state.manner.form));
    post::picked_up(state, &input.event);
    if std::mem::take(&mut state.stop_next)
        && let Some(turn) = &state.turn
    {
        turn.cancel.cancel();
    }
}

fn within_turn(state: &mut State) -> Next {
    if let Some(held) = state.program.held.clone() {
        return Next::Resume(Box::new(held));
    }
    match state.program.items.front().map(|item| &item.step) {
        None | Some(Step::User { .. } | Step::WaitForMessage) => {
            state.end_turn("end_turn", false);
            Next::Again
        }
        Some(_) => {
            let item = state.program.items.pop_front();
            state.program.current.clone_from(&item);
            state.touch();
            item.map_or(Next::Again, |item| Next::Play(Box::new(item)))
        }
    }
}

async fn perform(cell: &Cell, item: Item) {
    let thread = item.thread.as_deref();
    match item.step {
        Step::Say { text, delta_ms } => say::say(cell, thread, &text, delta_ms).await,
        Step::Think { text, ms } => say::think(cell, thread, &text, ms).await,
        Step::Tool(call) => act::tool(cell, thread, &call).await,
        Step::Ask(call) => act::ask(cell, thread, vec![call]).await,
        Step::CustomTool(call) => act::ask(cell, thread, vec![crate::scenario::Call { custom: true, ..call }]).await,
        Step::Batch { calls, .. } => act::ask(cell, thread, calls).await,
        Step::Error { kind, message, retry } => act::error(cell, thread, &kind, &message, retry).await,
        Step::Outcome { description, rubric, verdicts } => goal::define(cell, &description, &rubric, verdicts),
        Step::Judge { outcome_id, verdicts } => goal::judge(cell, thread, &outcome_id, &verdicts).await,
        Step::Thread { agent, task, report, steps } => act::open_thread(cell, agent, &task, report, steps),
        Step::ThreadClose { agent, report } => act::close_thread(cell, thread, &agent, &report),
        Step::Rescheduled { ms } => act::rescheduled(cell, ms).await,
        Step::Artifact { name, content_type, text } => act::artifact(cell, thread, &name, &content_type, &text),
        Step::Event { event } => act::event(cell, thread, event),
        Step::Pause { ms } => pause(cell, ms).await,
        Step::Gate { name } => gate(cell, &name).await,
        Step::End { reason } => cell.change(|state| {
            while state.program.items.front().is_some_and(|item| !opens_a_turn(&item.step)) {
                state.program.items.pop_front();
            }
            state.end_turn(&reason, false);
        }),
        Step::Terminate { reason } => cell.change(|state| state.terminate(&reason)),
        // Both open a turn and never get here: see `within_turn`.
        Step::User { .. } | Step::WaitForMessage => {}
        // Only the other protocols have these.
        Step::Question(_)
        | Step::ServerTool(_)
        | Step::Notice { .. }
        | Step::Compact { .. }
        | Step::Stop { .. }
        | Step::Frame { .. }
        | Step::Raw { .. } => {}
    }
    cell.change(|state| state.program.current = None);
}

fn opens_a_turn(step: &Step) -> bool {
    matches!(step, Step::User { .. } | Step::WaitForMessage)
}

/// Takes the script's time, and stops where a test holds the session.
pub(crate) async fn pause(cell: &Cell, ms: u64) {
    match cell.pace {
        Pace::Real => tokio::time::sleep(std::time::Duration::from_millis(ms)).await,
        Pace::Fast => tokio::task::yield_now().await,
    }
    if cell.look(|state| !state.gate.held) {
        return;
    }
    loop {
        let mut pulse = cell.pulse();
        let passes = cell.change(|state| {
            let gate = &mut state.gate;
            let passes = !gate.held || gate.permits > 0;
            gate.permits = if passes { gate.permits.saturating_sub(1) } else { 0 };
            gate.waiting = !passes;
            passes
        });
        if passes {
            return;
        }
        pulse.mark_unchanged();
        if cell.look(|state| state.gate.held && state.gate.permits == 0) && pulse.changed().await.is_err() {
            return;
        }
    }
}

async fn gate(cell: &Cell, name: &str) {
    cell.change(|state| state.gate.waiting = true);
    cell.until(|state| state.gate.open.contains(name)).await;
    cell.change(|state| state.gate.waiting = false);
}
