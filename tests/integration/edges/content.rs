//! What events hold: content in every shape, unknown words, times (numbers 19, 20 and 23).

use anyhow::Result;
use contract::{item::ItemBody, request::RequestFlag, session::SessionState};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::stage::{Stage, blocks, frame};

/// The lines behind scenario `plain`.
async fn behind(stage: &mut Stage) -> Result<Vec<String>> {
    Ok(stage.text().await?.lines().skip(2).map(str::to_owned).collect())
}

#[tokio::test]
async fn managed_edge_19_content_in_every_shape_is_shown() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let message = |content: Value| json!({"type": "agent.message", "content": content});
    stage.emit(json!({"type": "session.status_running"}))?;
    stage.emit(message(json!("A plain string")))?;
    stage.emit(message(json!([])))?;
    stage.emit(message(json!({"type": "text", "text": "One bare block"})))?;
    stage.emit(message(json!([{"type": "redacted"}])))?;
    stage.emit(message(json!([{"type": "hologram", "depth": 1.50}, {"type": "text", "text": " and text"}])))?;
    stage.emit(message(json!(["in ", "pieces"])))?;
    stage.emit(message(json!(null)))?;
    assert_eq!(
        behind(&mut stage).await?,
        [
            "Agent Done: A plain string",
            "Agent Done: ",
            "Agent Done: One bare block",
            "Agent Done: [redacted]",
            "Agent Done: [hologram {\"depth\":1.5,\"type\":\"hologram\"}] and text",
            "Agent Done: in pieces",
            "Agent Done: ",
        ]
    );
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_19_an_input_that_is_no_object_is_shown_raw_and_flagged() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running"}))?;
    for (id, input) in [("evt_s", json!("rm -rf /")), ("evt_l", json!([1, 2])), ("evt_n", Value::Null)] {
        stage.emit(
            json!({"id": id, "type": "agent.tool_use", "name": "Bash", "input": input, "evaluated_permission": "ask"}),
        )?;
    }
    let ids = ["evt_s", "evt_l", "evt_n"];
    stage.emit(json!({"type": "session.status_idle", "stop_reason": {"type": "requires_action", "event_ids": ids}}))?;
    stage.view.until("the cards", |view| view.open_requests().len() == 3).await?;
    let card = |id: &str| stage.view.requests[id].clone();
    assert_eq!(card("evt_s").arguments.text, "\"rm -rf /\"");
    assert!(card("evt_s").flags.contains(&RequestFlag::RawArguments), "{:?}", card("evt_s"));
    assert!(card("evt_l").flags.contains(&RequestFlag::RawArguments));
    assert_eq!(card("evt_s").command, None);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_20_unknown_types_words_fields_and_nulls_break_nothing() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    stage.emit(json!({"type": "session.status_running", "status": null, "mood": {"of": ["the", "day"]}}))?;
    stage.emit(json!({"id": "evt_u", "type": "agent.telepathy", "strength": 3}))?;
    stage.emit(json!({"type": "agent.tool_use", "name": null, "input": null, "evaluated_permission": "perhaps"}))?;
    stage.emit(json!({"type": "agent.tool_result", "tool_use_id": null, "content": null, "is_error": null}))?;
    stage.emit(json!({"type": "session.error", "error": null}))?;
    stage.emit(json!({"type": "session.error", "error": {"message": "Odd", "retry_status": {"type": "someday"}}}))?;
    stage.emit(json!({"type": "session.updated", "title": null, "agent": null, "budget": 7}))?;
    stage.emit(json!({"type": "session.usage", "usage": null}))?;
    stage.emit(json!({"type": "session.thread_created", "session_thread_id": null, "agent_name": null}))?;
    stage.emit(json!({"type": "user.tool_confirmation", "tool_use_id": null, "result": "shrug"}))?;
    stage.emit(json!({"type": "agent.artifact_delivered", "file_id": null}))?;
    stage.emit(json!({"type": "span.model_request_end", "model_usage": null, "is_error": null}))?;
    stage
        .emit(json!({"type": "agent.message", "content": blocks("Still here"), "turn_id": null, "message_id": null}))?;
    stage.emit(json!({"type": "session.status_idle", "stop_reason": {"type": "sunset", "event_ids": null}}))?;
    let lines = behind(&mut stage).await?;
    assert!(
        lines.iter().any(|line| line.starts_with("Unknown agent.telepathy: {") && line.contains("\"strength\":3")),
        "{lines:#?}"
    );
    assert!(lines.contains(&"Agent Done: Still here".to_owned()), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "Marker TurnEnd { stop: Other { word: \"sunset\" } }");
    assert_eq!(stage.view.header.row.state, SessionState::Idle);
    assert_eq!(stage.view.header.row.title.as_deref(), Some("Plain"));
    assert!(stage.view.open_requests().is_empty());
    let before = stage.text().await?;
    stage.restart().await?;
    stage.settle().await?;
    assert_eq!(stage.text().await?, before);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_20_frames_that_are_json_but_no_object_are_kept_as_notices() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    for data in ["null", "7", "\"text\"", "[]", "true"] {
        stage.raw(format!("event: agent.message\ndata: {data}\n\n"))?;
    }
    let notices = stage.notices().await?;
    assert_eq!(notices.len(), 5, "{notices:?}");
    assert!(notices.iter().all(|notice| notice.contains("could not be read")), "{notices:?}");
    // An object without anything in it.
    stage.raw("data: {}\n\n")?;
    stage.shown().await?;
    assert_eq!(stage.lines(|body| matches!(body, ItemBody::Unknown(_))), ["Unknown : {}"]);
    stage.stop().await;
    Ok(())
}

#[tokio::test]
async fn managed_edge_23_times_with_many_digits_equal_times_and_none_keep_the_order_of_arrival() -> Result<()> {
    let mut stage = Stage::idle(&[]).await?;
    let event = |id: &str, text: &str, at: Option<&str>| {
        let mut event = json!({"id": id, "type": "agent.message", "content": blocks(text)});
        if let Some(at) = at {
            event["processed_at"] = at.into();
        }
        frame(id, "agent.message", &event)
    };
    stage.emit(json!({"type": "session.status_running"}))?;
    stage.raw(event("evt_z", "nine digits", Some("2026-09-01T08:00:01.123456789Z")))?;
    stage.raw(event("evt_y", "equal", Some("2026-09-01T08:00:01.123456789Z")))?;
    stage.raw(event("evt_x", "earlier", Some("2026-09-01T08:00:00Z")))?;
    stage.raw(event("evt_w", "none", None))?;
    stage.raw(event("evt_v", "no time at all", Some("yesterday")))?;
    stage.raw(event("evt_t", "with an offset", Some("2026-09-01T10:00:02+02:00")))?;
    assert_eq!(
        stage.said().await?[1..],
        ["nine digits", "equal", "earlier", "none", "no time at all", "with an offset"]
    );
    let at = |id: &str| stage.view.items[id].at;
    assert_eq!(at("evt_z"), 1_788_249_601_123);
    assert_eq!(at("evt_y"), at("evt_z"));
    assert_eq!(at("evt_t"), 1_788_249_602_000);
    stage.emit(json!({"type": "session.status_idle", "stop_reason": {"type": "end_turn"}}))?;
    let before = stage.text().await?;
    stage.restart().await?;
    stage.settle().await?;
    assert_eq!(stage.text().await?, before);
    stage.stop().await;
    Ok(())
}
