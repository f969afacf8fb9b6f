//! P-04 and S-02: a decision is about the bytes that were shown. Where they change while it is on its way it is never
//! sent again, and what became of it is judged by what was read after its answer was lost.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use contract::{
    probe::ServerDraft,
    request::{ChoiceKind, Fate, Request, RequestState},
    server::ServerOptions,
};
use engine::MemoryCredentials;
use practice::{Command, FaultBody, RequestAct, RequestFault};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tests::{
    rig::{self, Dialect, Rig, decision, draft},
    view::View,
};
use tokio::sync::{mpsc, oneshot};

use super::{allow, carried_out, waiting_rig};
use crate::edges::wire::{Answer, Wire};

/// The server puts another command into the call that waits.
fn change_command(rig: &Rig, remote: &str, request: &str) -> Result<()> {
    let events = rig.control.events(remote)?;
    let mut call = events.into_iter().find(|event| event["id"] == request).context("no such call")?;
    call["input"]["command"] = "rm -rf build".into();
    rig.control.emit(remote, call)?;
    Ok(())
}

/// The next POST to a session is not carried out.
async fn refuse_next(rig: &Rig, remote: &str, act: RequestAct) -> Result<()> {
    let path = Some(format!("/sessions/{remote}/events"));
    let fault = RequestFault { method: Some("POST".to_owned()), path, times: 1, act };
    rig.control.run(Command::RequestFault(fault)).await?;
    Ok(())
}

/// The card waits again with other bytes, and only an answer to those is carried out.
async fn answered_anew(rig: &Rig, view: &mut View, old: &Request) -> Result<()> {
    view.until("the decision given up", |view| {
        view.decisions.values().any(|row| row.fate == Fate::Superseded) && view.open_requests().len() == 1
    })
    .await?;
    let card = view.open_requests()[0].clone();
    assert_eq!(card.id, old.id);
    assert_ne!(card.digest, old.digest);
    assert_eq!(card.command.as_ref().map(|command| command.text.as_str()), Some("rm -rf build"));
    assert_eq!(carried_out(rig, &old.id), 0, "nobody said yes to this");
    allow(rig, view, &card).await?;
    let fates: Vec<&Fate> = view.decisions.values().map(|row| &row.fate).collect();
    assert_eq!(fates, [&Fate::Superseded, &Fate::Accepted]);
    Ok(())
}

#[tokio::test]
async fn p04_a_decision_whose_request_changed_while_it_was_sending_is_never_sent_again() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let (rig, remote, mut view, request) = waiting_rig(dialect).await?;
        let away = RequestAct::Status { status: 503, body: FaultBody::Empty, retry_after: None };
        refuse_next(&rig, &remote, away).await?;
        rig.engine.decide(decision(&request, "allow_once")).await?;
        change_command(&rig, &remote, &request.id)?;
        answered_anew(&rig, &mut view, &request).await?;
    }
    Ok(())
}

#[tokio::test]
async fn p04_a_decision_whose_request_changed_while_the_app_was_away_is_never_sent_again() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let (mut rig, remote, view, request) = waiting_rig(dialect).await?;
        let before = rig.control.counters().requests;
        refuse_next(&rig, &remote, RequestAct::HalfOpen).await?;
        rig.engine.decide(decision(&request, "allow_once")).await?;
        rig.control.until(|seen| seen.requests > before).await?;
        drop(view);
        rig.engine.shutdown().await;
        change_command(&rig, &remote, &request.id)?;
        rig.restart().await?;
        let mut view = rig.open(&remote).await?;
        answered_anew(&rig, &mut view, &request).await?;
    }
    Ok(())
}

/// What the server by hand was posted, and what it has.
#[derive(Default)]
struct Desk {
    events: Vec<Value>,
    posted: Vec<Value>,
    /// The next listing is answered only when this comes, with what was there when it was asked.
    held: Option<oneshot::Receiver<()>>,
}

/// A server without idempotency keys whose answers to decisions are lost, though it has them.
async fn losing_server(desk: &Arc<Mutex<Desk>>) -> Result<(Wire, mpsc::UnboundedReceiver<()>)> {
    let (listed, listings) = mpsc::unbounded_channel();
    let desk = Arc::clone(desk);
    let streams = Mutex::new(Vec::new());
    let wire = Wire::with_session(move |asked| {
        let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.path.contains("/events/stream") {
            let (open, stream) = mpsc::unbounded_channel();
            streams.lock().unwrap_or_else(PoisonError::into_inner).push(open);
            return Some(Answer::Stream(stream));
        }
        if !asked.path.contains("/events") {
            return None;
        }
        if asked.method == "POST" {
            let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
            let number = desk.posted.len();
            let mut event = body["events"][0].clone();
            event["id"] = format!("evt_answer_{number}").into();
            event["processed_at"] = "2026-09-01T08:00:05Z".into();
            desk.posted.push(event.clone());
            desk.events.push(event);
            return Some(Answer::Status(502));
        }
        let newest_first: Vec<&Value> = desk.events.iter().rev().collect();
        let page = json!({"data": newest_first, "has_more": false});
        // Nobody may be interested any more.
        let _ = listed.send(());
        Some(match desk.held.take() {
            Some(go) => Answer::Held(go, page),
            None => Answer::Json(page),
        })
    })
    .await?;
    Ok((wire, listings))
}

fn asking() -> Vec<Value> {
    let stop = json!({"type": "requires_action", "event_ids": ["evt_call"]});
    vec![
        json!({"id": "evt_run", "type": "session.status_running", "processed_at": "2026-09-01T08:00:00Z"}),
        json!({"id": "evt_call", "type": "agent.tool_use", "name": "Bash", "input": {"command": "ls"},
            "evaluated_permission": "ask", "processed_at": "2026-09-01T08:00:01Z"}),
        json!({"id": "evt_idle", "type": "session.status_idle", "stop_reason": stop,
            "processed_at": "2026-09-01T08:00:02Z"}),
    ]
}

#[tokio::test]
async fn p04_a_reading_that_began_before_the_answer_was_lost_does_not_make_the_decision_twice() -> Result<()> {
    let desk = Arc::new(Mutex::new(Desk { events: asking(), ..Desk::default() }));
    let (wire, mut listings) = losing_server(&desk).await?;
    let dir = tempfile::tempdir()?;
    let engine = rig::engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
    let options = ServerOptions { dialect: Some("claude".into()), ..ServerOptions::default() };
    let entered = ServerDraft { protocol: Some("managed".into()), ..draft(&wire.base, "secret-token", options) };
    let server = engine.add_server(entered).await?.id;
    let session = engine.session_by_remote(&server, "sess_1").await?;
    let mut view = View::open(&engine, "main", session).await?;
    view.until("the card", |view| view.open_requests().len() == 1 && super::is_live(view)).await?;
    view.until("the end of the reading", |view| !view.header.loading_history).await?;

    // A reading begins, and its answer, from before the decision, takes its time.
    let (go, held) = oneshot::channel();
    while listings.try_recv().is_ok() {}
    desk.lock().unwrap_or_else(PoisonError::into_inner).held = Some(held);
    engine.wake();
    listings.recv().await.context("no reading began")?;
    let card = view.open_requests()[0].clone();
    engine.decide(decision(&card, "allow_once")).await?;
    wire.until(|seen| seen.iter().any(|asked| asked.method == "POST")).await?;
    // The lost answer is noticed first, as far as this runtime can tell.
    for _ in 0..2_000 {
        tokio::task::yield_now().await;
    }
    go.send(()).ok().context("nobody waits for the held answer")?;

    view.until("the fate", |view| view.decisions.values().any(|row| row.fate != Fate::Sending)).await?;
    let fates: Vec<_> = view.decisions.values().map(|row| (row.fate.clone(), row.choice)).collect();
    assert_eq!(fates, [(Fate::Accepted, ChoiceKind::AllowOnce)]);
    view.until("the card accepted", |view| matches!(view.requests[&card.id].state, RequestState::Accepted { .. }))
        .await?;
    let posted = desk.lock().unwrap_or_else(PoisonError::into_inner).posted.len();
    assert_eq!(posted, 1, "it was at the server all the time");
    Ok(())
}
