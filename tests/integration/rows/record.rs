//! When the record cannot be written: nothing is shown that is not stored, and what a crash left half done is told by
//! the log.

use std::path::Path;

use anyhow::{Context as _, Result};
use contract::{
    command::{NoArgs, SendMessage, SessionRef},
    patch::{Patch, SessionChange},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use store::{OutboxMessage, OutboxState, Store};
use tests::{
    rig::{Dialect, Rig},
    view::View,
};

use super::is_live;

/// Changes the database behind the engine's back.
fn behind(dir: &Path, sql: &str) -> Result<()> {
    rusqlite::Connection::open(dir.join("countersign.db"))?.execute_batch(sql)?;
    Ok(())
}

fn says(text: &str) -> Value {
    json!({"type": "agent.message", "content": [{"type": "text", "text": text}]})
}

#[tokio::test]
async fn a_record_that_cannot_be_written_shows_nothing_more_and_the_window_starts_over() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("the answer on a live stream", |view| view.text().contains("in a few words") && is_live(view)).await?;
    let session = view.session();
    // The view's own steps would open the session anew on a reset: this window only looks.
    let feed = rig.engine.attach_window("looking");
    let shown = rig.engine.open_session("looking", SessionRef { session }).await?;
    assert!(shown.header.row.live);
    behind(
        rig.dir.path(),
        "CREATE TRIGGER full BEFORE INSERT ON frames BEGIN SELECT RAISE(FAIL, 'the disk is full'); END",
    )?;
    rig.control.emit(&remote, says("Said while the disk was full."))?;
    let mut reset = false;
    while !reset {
        for patch in feed.next().await.context("the feed ended")? {
            if let Patch::Session { session: which, change, .. } = patch {
                assert_eq!(which, session);
                let text = format!("{change:?}");
                assert!(!text.contains("while the disk was full"), "shown and not stored: {text}");
                reset |= change == SessionChange::Reset;
            }
        }
    }
    let row = rig.engine.overview("looking", NoArgs {}).await?.sessions.into_iter().find(|row| row.id == session);
    assert!(!row.context("no row")?.live, "nothing is followed any more");

    behind(rig.dir.path(), "DROP TRIGGER full")?;
    let mut view = View::open(&rig.engine, "main", session).await?;
    view.until("what was said meanwhile", |view| view.text().contains("Said while the disk was full.")).await?;
    assert_eq!(view.text().matches("Said while the disk was full.").count(), 1, "{}", view.text());
    view.until("a live stream", is_live).await
}

#[tokio::test]
async fn a_message_that_arrived_before_a_crash_is_not_sent_again_and_one_that_did_not_is() -> Result<()> {
    for dialect in [Dialect::Claude, Dialect::Qoder] {
        let mut rig = Rig::start(dialect).await?;
        let (remote, mut view) = rig.play("plain", &[]).await?;
        view.until("the answer on a live stream", |view| view.text().contains("in a few words") && is_live(view))
            .await?;
        let session = view.session();
        rig.engine.send_message(SendMessage { session, text: "It arrived.".to_owned(), images: Vec::new() }).await?;
        view.until("the message and its answer", |view| view.text().contains("You said: It arrived.")).await?;
        let key = rig.control.counters().posts.last().and_then(|post| post.idempotency_key.clone());
        drop(view);
        rig.engine.shutdown().await;
        // The crash came between the echo's commit and the outbox's: both messages stand there as being on their way.
        let store = Store::open(&rig.dir.path().join("countersign.db"), 1)?.store;
        let at = store.sessions(None).await?.iter().filter_map(|kept| kept.record.last_event_at).max().unwrap_or(0);
        for (id, body) in [("local-1", "It arrived."), ("local-2", "It did not.")] {
            let key = if id == "local-1" { key.clone() } else { None }.unwrap_or_else(|| format!("key of {id}"));
            let state = OutboxState::Sending;
            let (id, body, images) = (id.into(), body.into(), Vec::new());
            store.put_outbox(OutboxMessage { session, id, body, images, key, at, state }).await?;
        }
        store.close().await?;
        rig.restart().await?;
        let mut view = rig.open(&remote).await?;
        view.until("the other's answer", |view| view.text().contains("You said: It did not.")).await?;
        view.until("nothing on its way", |view| {
            !view.text().contains("User Uncertain") && !view.text().contains("User Sending")
        })
        .await?;
        for text in ["It arrived.", "It did not."] {
            let events = rig.control.events(&remote)?;
            let is_it = |event: &&Value| event["type"] == "user.message" && event["content"][0]["text"] == text;
            assert_eq!(events.iter().filter(is_it).count(), 1, "{dialect:?}: {text}");
            assert_eq!(view.text().matches(&format!("User Done: {text}")).count(), 1, "{dialect:?}: {}", view.text());
        }
    }
    Ok(())
}
