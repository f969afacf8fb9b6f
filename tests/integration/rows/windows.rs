//! Windows that close, and windows that are told to start over.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use contract::{
    command::{ReadItems, SessionRef},
    patch::{Patch, SessionChange},
    session::SessionState,
};
use practice::WaitFor;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tests::{
    rig::{Dialect, Rig},
    view::View,
};

use super::{is_live, pass};

fn says(text: &str) -> Value {
    json!({"type": "agent.message", "content": [{"type": "text", "text": text}]})
}

/// An idle session on a live stream, shown in the window `main`.
async fn idle(rig: &Rig) -> Result<(String, View)> {
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("an idle session on a live stream", |view| {
        view.header.row.state == SessionState::Idle && is_live(view) && view.text().contains("in a few words")
    })
    .await?;
    view.until("its history", |view| !view.header.loading_history).await?;
    Ok((remote, view))
}

#[tokio::test]
async fn a_window_that_was_loaded_anew_does_not_keep_the_streams_of_what_it_showed_before() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (_, view) = idle(&rig).await?;
    // The page was loaded anew and shows another screen: nobody closed the session.
    let _feed = rig.engine.attach_window("main");
    drop(view);
    // Tasks that nobody needs are looked for every 10 s; a stream that nobody looks at is kept for 20 s. How many
    // looks it takes depends on who runs first after each.
    let closed = WaitFor { open_streams_at_most: Some(0), timeout_ms: Some(100), ..WaitFor::default() };
    for _ in 0..50 {
        pass(Duration::from_secs(11)).await;
        if rig.control.wait(&closed).await.is_ok() {
            return Ok(());
        }
    }
    bail!("the stream is still open")
}

#[tokio::test]
async fn a_window_that_shows_a_session_keeps_its_stream() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = idle(&rig).await?;
    for _ in 0..5 {
        pass(Duration::from_secs(11)).await;
        rig.engine.overview("main", contract::command::NoArgs {}).await?;
    }
    rig.control.emit(&remote, says("Still here."))?;
    view.until("what came later", |view| view.text().contains("Still here.")).await?;
    assert_eq!(rig.control.counters().opened.len(), 1);
    Ok(())
}

/// More than twice a snapshot's items.
const BURST: usize = 700;

#[tokio::test]
async fn a_burst_of_items_resets_the_window_and_loses_none_of_them() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = idle(&rig).await?;
    let session = view.session();
    let looking = rig.engine.attach_window("looking");
    rig.engine.open_session("looking", SessionRef { session }).await?;
    rig.control.cut_streams();
    for number in 0..BURST {
        rig.control.emit(&remote, says(&format!("Burst {number}.")))?;
    }
    let mut items = 0;
    let reset = loop {
        let batch = looking.next().await.context("the feed ended")?;
        let changes = batch.into_iter().filter_map(|patch| match patch {
            Patch::Session { change, .. } => Some(change),
            Patch::Overview { .. } => None,
        });
        let mut reset = false;
        for change in changes {
            items += usize::from(matches!(change, SessionChange::Item { .. }));
            reset |= change == SessionChange::Reset;
        }
        if reset {
            break reset;
        }
    };
    assert!(reset && items < BURST, "{items} items came one by one");
    let last = format!("Burst {}.", BURST - 1);
    view.until("the last of them", |view| view.text().contains(&last)).await?;
    let mut texts = vec![view.text()];
    loop {
        let before = view.ordered().first().context("an empty transcript")?.id.clone();
        let page = rig.engine.read_items(ReadItems { session, before, limit: 500 }).await?;
        for item in page.items {
            view.items.insert(item.id.clone(), item);
        }
        if !page.has_older {
            break;
        }
    }
    texts.push(view.text());
    for number in 0..BURST {
        assert_eq!(texts[1].matches(&format!("Burst {number}.")).count(), 1, "{number}");
    }
    Ok(())
}
