//! Messages that the server turns away, and what the header says meanwhile.

use std::time::Duration;

use anyhow::Result;
use contract::{
    command::{QueuedAction, QueuedMessageAction, SendMessage},
    item::{ItemBody, NoticeLevel},
    session::SessionState,
};
use practice::{Command, FaultBody, RequestAct, RequestFault};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::{
    rig::{Dialect, Rig},
    view::View,
};

use super::{is_live, pass};

/// An idle session on a live stream.
async fn idle(rig: &Rig) -> Result<(String, View)> {
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("an idle session on a live stream", |view| {
        view.header.row.state == SessionState::Idle && is_live(view) && view.text().contains("in a few words")
    })
    .await?;
    view.until("its history", |view| !view.header.loading_history).await?;
    Ok((remote, view))
}

/// So many messages are turned away as if a turn ran.
async fn busy(rig: &Rig, remote: &str, times: u32) -> Result<()> {
    let act = RequestAct::Status { status: 409, body: FaultBody::Json, retry_after: None };
    let path = Some(format!("/sessions/{remote}/events"));
    let fault = RequestFault { method: Some("POST".to_owned()), path, times, act };
    rig.control.run(Command::RequestFault(fault)).await?;
    Ok(())
}

/// Tries of one message before it waits for the person's word.
const TRIES: u32 = 5;

#[tokio::test]
async fn a_message_turned_away_as_busy_though_nothing_runs_goes_out_without_a_new_connection() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        let rig = Rig::start(dialect).await?;
        let (remote, mut view) = idle(&rig).await?;
        busy(&rig, &remote, 1).await?;
        rig.engine
            .send_message(SendMessage { session: view.session(), text: "Anybody?".to_owned(), images: Vec::new() })
            .await?;
        view.until("the answer", |view| view.text().contains("You said: Anybody?")).await?;
        view.until("an idle session", |view| view.header.row.state == SessionState::Idle).await?;
        assert_eq!(rig.control.counters().opened.len(), 1, "the stream was never left");
        assert_eq!(view.text().matches("User Done: Anybody?").count(), 1, "{}", view.text());
        assert_eq!(view.header.queued, []);
    }
    Ok(())
}

#[tokio::test]
async fn a_server_that_always_says_busy_is_asked_a_few_times_and_the_message_is_held_with_its_words() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = idle(&rig).await?;
    // Once more, and it would be taken.
    busy(&rig, &remote, TRIES).await?;
    rig.engine
        .send_message(SendMessage { session: view.session(), text: "Anybody?".to_owned(), images: Vec::new() })
        .await?;
    let held = |view: &View| view.header.queued.first().is_some_and(|queued| queued.held);
    while !held(&view) {
        // Little at once: what is on its way has limits of its own, and they must not pass on a busy machine.
        pass(Duration::from_millis(250)).await;
        tokio::select! {
            stepped = view.step() => stepped?,
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
    }
    assert!(!matches!(view.header.row.state, SessionState::Running), "nothing runs");
    assert!(rig.control.counters().posts.is_empty(), "it was tried {TRIES} times, and no more");
    view.until("the server's words", |view| {
        let error = |body: &ItemBody| matches!(body, ItemBody::Notice(notice) if notice.level == NoticeLevel::Error);
        view.items.values().any(|item| error(&item.body))
    })
    .await?;

    let id = view.header.queued[0].id.clone();
    let release = QueuedMessageAction { session: view.session(), id, action: QueuedAction::Release };
    rig.engine.queued_message(release).await?;
    view.until("the answer", |view| view.text().contains("You said: Anybody?")).await?;
    assert_eq!(view.text().matches("User Done: Anybody?").count(), 1, "{}", view.text());
    Ok(())
}

#[tokio::test]
async fn the_header_follows_the_cursor_without_any_other_change_of_it() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = idle(&rig).await?;
    for number in 0..3 {
        let id = format!("evt_cursor_{number}");
        rig.control.emit(&remote, json!({"id": id, "type": "agent.message", "content": []}))?;
        view.until("the cursor", |view| view.header.cursor.as_deref() == Some(id.as_str())).await?;
    }
    Ok(())
}
