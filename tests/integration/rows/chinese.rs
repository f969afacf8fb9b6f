//! P-24: Chinese stays Chinese, however the bytes are cut on their way.

use anyhow::Result;
use contract::{
    item::{ItemBody, NoticeCode},
    search::HistoryQuery,
    session::SessionState,
};
use practice::StreamAct;
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::{
    rig::{Dialect, Rig, decision},
    view::{View, line},
};

use super::is_live;

#[tokio::test]
async fn p24_chinese_cut_at_every_byte_arrives_whole() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("an idle live stream", |view| view.header.row.state == SessionState::Idle && is_live(view)).await?;
    let frame = |number: usize| {
        let text = format!("{number} 东京天气：小雨 🌤️ é");
        let event = json!({"id": format!("evt_cut_{number}"), "type": "agent.message", "content": [{"type": "text", "text": text}]});
        (format!("id: evt_cut_{number}\nevent: agent.message\ndata: {event}\n\n").into_bytes(), text)
    };
    let length = frame(100).0.len();
    let mut wanted = Vec::new();
    for cut in 1..length {
        // Numbers of three digits: every frame is as long as the first.
        let (bytes, text) = frame(100 + cut);
        rig.control.raw(&remote, bytes[..cut].to_vec())?;
        rig.control.raw(&remote, bytes[cut..].to_vec())?;
        wanted.push(format!("Agent Done: {text}"));
    }
    view.until("the last of them", |view| view.items.contains_key(&format!("evt_cut_{}", 99 + length))).await?;
    let ids: Vec<String> = (1..length).map(|cut| format!("evt_cut_{}", 100 + cut)).collect();
    let shown: Vec<String> = ids.iter().filter_map(|id| view.items.get(id)).map(line).collect();
    assert_eq!(shown, wanted);
    assert!(!view.text().contains('\u{fffd}'));
    Ok(())
}

#[tokio::test]
async fn p24_a_chinese_run_dripped_seven_bytes_at_a_time_arrives_whole_and_is_found_by_two_characters() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    rig.control.bend_next_stream(StreamAct::Drip { bytes: 7, every_ms: 0 });
    let (_, mut view) = rig.play("tokyo-weather", &[]).await?;
    view.until("the requests", |view| view.open_requests().len() == 2).await?;
    for request in view.open_requests().into_iter().cloned().collect::<Vec<_>>() {
        rig.engine.decide(decision(&request, "deny")).await?;
    }
    view.until("the end of the run", |view| view.header.row.state == SessionState::Idle).await?;
    view.until("its last words", |view| view.text().contains("好的，这次不发送。")).await?;
    assert!(!view.text().contains('\u{fffd}'));
    assert!(view.text().contains("简报写好了，需要你批准后才能发送。"), "{}", view.text());
    found(&rig, &view, "东京").await?;
    found(&rig, &view, "小雨").await
}

/// The search finds the session by these words, as soon as its index has them.
async fn found(rig: &Rig, view: &View, words: &str) -> Result<()> {
    loop {
        let query = HistoryQuery { text: words.to_owned(), limit: 10, ..HistoryQuery::default() };
        let page = rig.engine.search_history(query).await?;
        if let Some(hit) = page.hits.iter().find(|hit| hit.row.id == view.session()) {
            assert!(hit.places.iter().any(|place| place.matched == words), "{hit:?}");
            return Ok(());
        }
        // Its index follows the record: the search says that it is behind until it is not.
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn p24_bytes_that_are_no_text_are_said_not_swallowed() -> Result<()> {
    let rig = Rig::start(Dialect::Qoder).await?;
    rig.control.hold_session(None)?;
    rig.control.bend_next_stream(StreamAct::BadUtf8 { after: 0 });
    let (remote, mut view) = rig.play("plain", &[]).await?;
    view.until("a live stream", is_live).await?;
    rig.control.release(None)?;
    view.until("a word about the bytes", |view| {
        view.items
            .values()
            .any(|item| matches!(&item.body, ItemBody::Notice(notice) if notice.code == NoticeCode::BadUtf8))
    })
    .await?;
    view.until("what came after them", |view| view.text().contains("a plain answer in a few words")).await?;
    drop(remote);
    Ok(())
}
