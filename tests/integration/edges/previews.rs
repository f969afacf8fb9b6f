//! Live text: previews and the whole messages that replace them (numbers 3 to 5).

use anyhow::Result;
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::view::View;

use super::stage::{Stage, blocks, delta, frame, preview};

#[tokio::test]
async fn managed_edge_03_a_preview_replayed_after_a_reconnect_is_shown_once() -> Result<()> {
    let mut stage = Stage::play("gated", &[]).await?;
    stage.view.until("the first part", |view| view.text().contains("Agent Done: First part.")).await?;
    stage.live().await?;
    // Something buffered on this very stream, so that there is a cursor to resume after.
    stage.shown().await?;
    stage.rig.control.hold_session(Some(&stage.remote))?;
    stage.rig.control.open_gate(&stage.remote, "middle")?;
    stage.rig.control.step(&stage.remote)?;
    let partial = |view: &View| view.text().ends_with("Agent Streaming: Second ");
    stage.view.until("a part of the text", partial).await?;
    stage.reconnect().await?;
    stage.view.until("the part again", partial).await?;
    stage.rig.control.release(Some(&stage.remote))?;
    stage.view.until("the card", |view| !view.open_requests().is_empty()).await?;
    assert_eq!(stage.said().await?, ["First part.", "Second part."]);
    assert!(!stage.view.text().contains("Incomplete"));
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_03_previews_of_an_older_turn_change_nothing() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let before = stage.text().await?;
    let old = stage.view.ordered().iter().find(|item| tests::view::line(item).starts_with("Agent")).unwrap().id.clone();
    stage.reconnect().await?;
    stage.raw(preview(&old, &["Hello", "Hello again"]))?;
    stage.raw(delta(&old, 1, "a second block"))?;
    assert_eq!(stage.text().await?, before);
    stage.restart().await?;
    stage.settle().await?;
    assert_eq!(stage.text().await?, before);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_03_two_previews_at_once_are_told_apart_by_their_ids() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running"}))?;
    stage.raw(preview("evt_one", &["One "]))?;
    stage.raw(preview("evt_two", &["Two "]))?;
    stage.raw(delta("evt_one", 0, "and one"))?;
    stage.raw(delta("evt_two", 0, "and two"))?;
    assert_eq!(stage.said().await?[1..], ["One and one", "Two and two"]);
    stage.emit(json!({"id": "evt_two", "type": "agent.message", "content": blocks("Two.")}))?;
    stage.emit(json!({"id": "evt_one", "type": "agent.message", "content": blocks("One.")}))?;
    let mut said = stage.said().await?.split_off(1);
    said.sort();
    assert_eq!(said, ["One.", "Two."]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_04_text_that_breaks_off_stays_and_says_so() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running"}))?;
    stage.raw(preview("evt_cut", &["Half a sen"]))?;
    stage.emit(json!({"type": "session.status_idle", "stop_reason": {"type": "cancelled"}}))?;
    let text = stage.text().await?;
    assert!(text.ends_with("Agent Incomplete: Half a sen\nMarker TurnEnd { stop: Stopped }"), "{text}");
    // A delta that was still under way, and a preview without any text, add nothing.
    stage.raw(delta("evt_cut", 0, "tence"))?;
    stage.raw(preview("evt_empty", &[]))?;
    stage.emit(json!({"type": "session.status_idle", "stop_reason": {"type": "cancelled"}}))?;
    let text = stage.text().await?;
    assert_eq!(text.matches("Half a sen").count(), 1, "{text}");
    assert!(!text.contains("tence") && !text.contains("Streaming"), "{text}");
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_04_an_error_of_the_model_closes_its_preview() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running"}))?;
    let span = stage.emit(json!({"type": "span.model_request_start"}))?;
    stage.raw(preview("evt_first", &["Lost"]))?;
    stage.emit(json!({"type": "span.model_request_end", "model_request_start_id": span, "is_error": true}))?;
    stage.emit(json!({"id": "evt_second", "type": "agent.message", "content": blocks("Second try")}))?;
    let text = stage.text().await?;
    assert!(text.ends_with("Agent Incomplete: Lost\nAgent Done: Second try"), "{text}");
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_04_the_whole_message_wins_over_its_preview_and_needs_none() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running"}))?;
    stage.raw(preview("evt_p", &["Hel", "lo"]))?;
    assert_eq!(stage.said().await?[1..], ["Hello"]);
    stage.emit(json!({"id": "evt_p", "type": "agent.message", "content": blocks("Something else entirely")}))?;
    stage.emit(json!({"id": "evt_n", "type": "agent.message", "content": blocks("No preview at all")}))?;
    assert_eq!(stage.said().await?[1..], ["Something else entirely", "No preview at all"]);
    stage.reconnect().await?;
    assert_eq!(stage.said().await?[1..], ["Something else entirely", "No preview at all"]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_05_a_delta_without_a_start_begins_the_draft() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running"}))?;
    stage.raw(delta("evt_d", 0, "No start"))?;
    assert_eq!(stage.said().await?[1..], ["No start"]);
    // The start comes behind: from the beginning again.
    stage.raw(preview("evt_d", &["From the beginning"]))?;
    assert_eq!(stage.said().await?[1..], ["From the beginning"]);
    stage.emit(json!({"id": "evt_d", "type": "agent.message", "content": blocks("From the beginning to the end")}))?;
    assert_eq!(stage.said().await?[1..], ["From the beginning to the end"]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_05_gaps_and_unknown_deltas_wait_for_the_whole_message() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running"}))?;
    stage.raw(preview("evt_g", &["First"]))?;
    stage.raw(delta("evt_g", 1, "Second"))?;
    stage.raw(delta("evt_g", 5, "beyond a gap"))?;
    for odd in [
        json!({"type": "citation_delta", "index": 0, "citation": {}}),
        json!({"type": "content_delta", "index": 0, "content": {"type": "image", "source": {}}}),
        json!({"type": "content_delta", "index": -1, "content": {"type": "text", "text": 7}}),
        json!("nothing of the kind"),
    ] {
        stage.raw(frame("evt_g", "event_delta", &json!({"type": "event_delta", "event_id": "evt_g", "delta": odd})))?;
    }
    assert_eq!(stage.said().await?[1..], ["FirstSecond"]);
    let whole = json!([{"type": "text", "text": "First"}, {"type": "text", "text": "Second"}, {"type": "text", "text": "Third"}]);
    stage.emit(json!({"id": "evt_g", "type": "agent.message", "content": whole}))?;
    assert_eq!(stage.said().await?[1..], ["FirstSecondThird"]);
    let text = stage.text().await?;
    assert!(!text.contains("Streaming"), "{text}");
    stage.stop().await;
    Ok(())
}
