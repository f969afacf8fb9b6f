//! P-23 and the queue: a stop goes from asked for to confirmed, and what was queued is neither sent nor lost.

use anyhow::{Context as _, Result};
use contract::{
    command::{QueuedAction, QueuedMessageAction, SendMessage, SessionRef},
    error::ErrorCode,
    request::{Fate, RequestState},
    session::{SessionState, StopState},
};
use practice::{Command, RequestAct, RequestFault, WaitFor};
use pretty_assertions::assert_eq;
use tests::{
    rig::{Dialect, Rig, decision},
    view::View,
};

use super::{is_live, waiting_rig};

/// A turn that stands at its first gate.
async fn running(rig: &Rig) -> Result<(String, View)> {
    let (remote, mut view) = rig.play("gated", &[]).await?;
    rig.control.wait(&WaitFor { session: Some(remote.clone()), at_gate: Some(true), ..WaitFor::default() }).await?;
    view.until("a running turn", |view| {
        view.header.row.state == SessionState::Running && is_live(view) && !view.header.loading_history
    })
    .await?;
    Ok((remote, view))
}

fn send(view: &View, text: &str) -> SendMessage {
    SendMessage { session: view.session(), text: text.to_owned(), images: Vec::new() }
}

fn queued(view: &View) -> Vec<(&str, bool)> {
    view.header.queued.iter().map(|message| (message.text.as_str(), message.held)).collect()
}

/// The texts of the person's messages that the server has.
fn arrived(rig: &Rig, remote: &str) -> Result<Vec<String>> {
    let events = rig.control.events(remote)?;
    let messages = events.iter().filter(|event| event["type"] == "user.message");
    Ok(messages.map(|event| event["content"][0]["text"].as_str().unwrap_or_default().to_owned()).collect())
}

#[tokio::test]
async fn p23_stop_is_requested_then_confirmed_and_the_queue_is_held_not_sent() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let rig = Rig::start(dialect).await?;
        // A message to a running turn waits here in both dialects of this test: the sessions speak Qoder's way.
        let (remote, mut view) = running(&rig).await?;
        if dialect == Dialect::Qoder {
            rig.engine.send_message(send(&view, "Then the next thing.")).await?;
            view.until("the queued message", |view| queued(view) == [("Then the next thing.", false)]).await?;
        }
        let path = Some(format!("/sessions/{remote}"));
        let slow = RequestFault { method: Some("POST".into()), path, times: 1, act: RequestAct::Delay { ms: 20 } };
        rig.control.run(Command::RequestFault(slow)).await?;
        let (engine, which) = (rig.engine.clone(), SessionRef { session: view.session() });
        let stopping = tokio::spawn(async move { engine.stop_session(which).await });
        view.until("a stop that was asked for", |view| matches!(view.header.stop, StopState::Requested { .. })).await?;
        view.until("a stop that the server confirmed", |view| matches!(view.header.stop, StopState::Confirmed { .. }))
            .await?;
        stopping.await??;
        view.until("an idle session", |view| view.header.row.state == SessionState::Idle).await?;
        assert_eq!(arrived(&rig, &remote)?, ["Step by step"]);
        if dialect == Dialect::Qoder {
            assert_eq!(queued(&view), [("Then the next thing.", true)]);
            let id = view.header.queued[0].id.clone();
            let release = QueuedMessageAction { session: view.session(), id, action: QueuedAction::Release };
            rig.engine.queued_message(release).await?;
            view.until("an empty queue", |view| view.header.queued.is_empty()).await?;
            rig.control
                .wait(&WaitFor {
                    session: Some(remote.clone()),
                    event_type: Some("user.message".into()),
                    count: Some(2),
                    ..WaitFor::default()
                })
                .await?;
            assert_eq!(arrived(&rig, &remote)?, ["Step by step", "Then the next thing."]);
        }
    }
    Ok(())
}

#[tokio::test]
async fn p23_allowing_a_card_of_a_stopped_run_is_refused() -> Result<()> {
    let (rig, remote, mut view, request) = waiting_rig(Dialect::Qoder).await?;
    // The server takes its time: the stop is asked for, not confirmed.
    let path = Some(format!("/sessions/{remote}"));
    let never = RequestFault { method: Some("POST".into()), path, times: 1, act: RequestAct::HalfOpen };
    rig.control.run(Command::RequestFault(never)).await?;
    let (engine, which) = (rig.engine.clone(), SessionRef { session: view.session() });
    let stopping = tokio::spawn(async move { engine.stop_session(which).await });
    view.until("a stop that was asked for", |view| matches!(view.header.stop, StopState::Requested { .. })).await?;
    let refused = rig.engine.decide(decision(&request, "allow_once")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::RequestSettled);
    assert_eq!(rig.control.counters().decisions, []);
    stopping.abort();
    Ok(())
}

#[tokio::test]
async fn p23_a_confirmed_stop_makes_the_waiting_card_void() -> Result<()> {
    let (rig, _, mut view, request) = waiting_rig(Dialect::Qoder).await?;
    rig.engine.stop_session(SessionRef { session: view.session() }).await?;
    view.until("a void card", |view| view.requests.get(&request.id).map(|r| &r.state) == Some(&RequestState::Void))
        .await?;
    let refused = rig.engine.decide(decision(&request, "allow_once")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::RequestSettled);
    assert!(view.decisions.values().all(|row| row.fate != Fate::Accepted), "{:?}", view.decisions);
    Ok(())
}

#[tokio::test]
async fn a_stop_that_the_server_refuses_is_not_shown_as_asked_for() -> Result<()> {
    let (rig, remote, mut view, request) = waiting_rig(Dialect::Qoder).await?;
    let act = RequestAct::Status { status: 403, body: practice::FaultBody::Json, retry_after: None };
    rig.control.fail_next("POST", &format!("/sessions/{remote}"), act);
    let refused = rig.engine.stop_session(SessionRef { session: view.session() }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Forbidden);
    view.until("no stop", |view| view.header.stop == StopState::None).await?;
    super::allow(&rig, &mut view, &request).await
}

#[tokio::test]
async fn a_message_to_a_running_turn_waits_here_and_is_sent_when_it_ends() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = running(&rig).await?;
    for text in ["One.", "Two."] {
        rig.engine.send_message(send(&view, text)).await?;
    }
    view.until("both in the queue", |view| queued(view) == [("One.", false), ("Two.", false)]).await?;
    assert_eq!(arrived(&rig, &remote)?, ["Step by step"]);
    rig.control.open_gate(&remote, "middle")?;
    view.until("the approval", |view| view.open_requests().len() == 1).await?;
    let request = view.open_requests()[0].clone();
    rig.engine.decide(decision(&request, "deny")).await?;
    view.until("both answered", |view| {
        view.text().contains("You said: One.") && view.text().contains("You said: Two.")
    })
    .await?;
    view.until("an empty queue", |view| view.header.queued.is_empty()).await?;
    assert_eq!(arrived(&rig, &remote)?, ["Step by step", "One.", "Two."]);
    Ok(())
}

#[tokio::test]
async fn a_message_to_a_running_turn_goes_to_a_server_that_queues() -> Result<()> {
    let rig = Rig::start(Dialect::Claude).await?;
    let (remote, mut view) = rig.play("gated", &[("practice.form", "claude")]).await?;
    rig.control.wait(&WaitFor { session: Some(remote.clone()), at_gate: Some(true), ..WaitFor::default() }).await?;
    view.until("a running turn", |view| view.header.row.state == SessionState::Running && is_live(view)).await?;
    rig.engine.send_message(send(&view, "Later, please.")).await?;
    rig.control.until(|seen| seen.posts.iter().any(|post| post.body.to_string().contains("Later, please."))).await?;
    view.until("the message, queued at the server", |view| view.text().contains("User Queued: Later, please.")).await?;
    assert_eq!(queued(&view), []);
    Ok(())
}

#[tokio::test]
async fn queued_messages_survive_a_restart() -> Result<()> {
    let mut rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = running(&rig).await?;
    rig.engine.send_message(send(&view, "Not to be lost.")).await?;
    view.until("the queued message", |view| queued(view) == [("Not to be lost.", false)]).await?;
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    view.until("the queued message again", |view| queued(view) == [("Not to be lost.", false)]).await?;
    rig.control.open_gate(&remote, "middle")?;
    view.until("the approval", |view| view.open_requests().len() == 1).await?;
    let request = view.open_requests()[0].clone();
    rig.engine.decide(decision(&request, "deny")).await?;
    view.until("its answer", |view| view.text().contains("You said: Not to be lost.")).await?;
    assert_eq!(arrived(&rig, &remote)?, ["Step by step", "Not to be lost."]);
    Ok(())
}

#[tokio::test]
async fn p23_a_stop_that_was_asked_for_survives_a_restart() -> Result<()> {
    let (mut rig, remote, mut view, request) = waiting_rig(Dialect::Qoder).await?;
    let path = Some(format!("/sessions/{remote}"));
    let never = RequestFault { method: Some("POST".into()), path, times: 1, act: RequestAct::HalfOpen };
    rig.control.run(Command::RequestFault(never)).await?;
    let (engine, which) = (rig.engine.clone(), SessionRef { session: view.session() });
    let stopping = tokio::spawn(async move { engine.stop_session(which).await });
    view.until("a stop that was asked for", |view| matches!(view.header.stop, StopState::Requested { .. })).await?;
    let asked = view.header.stop;
    stopping.abort();
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    assert_eq!(view.header.stop, asked);
    view.until("the card on a live stream", |view| view.open_requests().len() == 1 && is_live(view)).await?;
    let refused = rig.engine.decide(decision(&request, "allow_once")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::RequestSettled);
    rig.engine.stop_session(SessionRef { session: view.session() }).await?;
    view.until("a stop that the server confirmed", |view| matches!(view.header.stop, StopState::Confirmed { .. })).await
}

#[tokio::test]
async fn a_stop_that_the_server_refused_is_not_asked_for_again_by_a_restart() -> Result<()> {
    let (mut rig, remote, mut view, _) = waiting_rig(Dialect::Qoder).await?;
    let act = RequestAct::Status { status: 403, body: practice::FaultBody::Json, retry_after: None };
    rig.control.fail_next("POST", &format!("/sessions/{remote}"), act);
    rig.engine.stop_session(SessionRef { session: view.session() }).await.unwrap_err();
    view.until("no stop", |view| view.header.stop == StopState::None).await?;
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    assert_eq!(view.header.stop, StopState::None);
    view.until("the card on a live stream", |view| view.open_requests().len() == 1 && is_live(view)).await?;
    let request = view.open_requests()[0].clone();
    super::allow(&rig, &mut view, &request).await
}

#[tokio::test]
async fn a_stop_of_what_ran_no_more_is_not_shown_as_asked_for_for_ever() -> Result<()> {
    let mut rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("an idle live stream", |view| view.header.row.state == SessionState::Idle && is_live(view)).await?;
    rig.engine.stop_session(SessionRef { session: view.session() }).await?;
    // The stop is confirmed by its answer, or forgotten where the turn's beginning is read only now.
    let waited =
        view.until("no stop that is only asked for", |view| !matches!(view.header.stop, StopState::Requested { .. }));
    let waited = waited.await;
    waited.with_context(|| format!("{:?}", view.header))?;
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    view.until("no stop that is only asked for", |view| !matches!(view.header.stop, StopState::Requested { .. }))
        .await?;
    rig.engine.send_message(send(&view, "Go on.")).await?;
    view.until("its answer", |view| view.text().contains("You said: Go on.")).await
}
