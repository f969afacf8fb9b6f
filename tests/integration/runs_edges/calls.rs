//! Calls: several at once, in any order, under ids that come again (number 11), and unknown or half frames (number 15).

use anyhow::Result;
use contract::{
    item::{ItemBody, NoticeLevel, ToolState},
    request::{ChoiceKind, RequestKind, RequestState},
};
use practice::{Generation, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tests::rig::decision;

use super::hand::{anew, begin, emit, event, held, lines, over, ran, raw, result, shown, tools};
use crate::runs::{Stage, card, is_over, runs, says};

#[tokio::test]
async fn runs_edge_11_two_calls_are_started_and_asked_about_one_after_the_other() -> Result<()> {
    let mut stage = Stage::playing("runs-batch").await?;
    stage.say("Clean up").await?;
    stage.card().await?;
    anew(&mut stage).await?;
    let first = stage.card().await?;
    assert_eq!(first.command.as_ref().map(|command| command.text.as_str()), Some("rm -rf build"));
    assert_eq!(tools(&stage.view).len(), 3, "all were started");
    assert_eq!(stage.view.requests.len(), 1, "and one is asked about");
    stage.rig.engine.decide(decision(&first, "deny")).await?;
    stage.view.until("the next card", |view| view.requests.len() == 2 && view.open_requests().len() == 1).await?;
    let second = stage.card().await?;
    assert_eq!(second.command.as_ref().map(|command| command.text.as_str()), Some("du -sh ."));
    stage.rig.engine.decide(decision(&second, "allow_once")).await?;
    over(&mut stage).await?;
    let denied = |view: &tests::view::View| matches!(tools(view)[0].state, ToolState::Denied { .. });
    stage.view.until("the denied one", denied).await?;
    let states: Vec<ToolState> = tools(&stage.view).into_iter().skip(1).map(|tool| tool.state.clone()).collect();
    assert_eq!(states, [ToolState::Done, ToolState::Done]);
    let accepted = |id: &str, choice| matches!(stage.view.requests[id].state, RequestState::Accepted { choice: made, .. } if made == choice);
    assert!(accepted(&first.id, ChoiceKind::Deny) && accepted(&second.id, ChoiceKind::AllowOnce));
    Ok(())
}

#[tokio::test]
async fn runs_edge_11_results_out_of_order_stand_with_their_calls() -> Result<()> {
    let mut stage = Stage::playing("runs-out-of-order").await?;
    ran(&mut stage, "Read all three").await?;
    let shown: Vec<String> = lines(&stage.view).into_iter().filter(|line| line.starts_with("Tool")).collect();
    assert_eq!(shown.len(), 3);
    for (line, wanted) in shown.iter().zip([("Done", ": a\n"), ("Failed", ": b\n"), ("Done", ": c\n")]) {
        assert!(line.contains(wanted.0) && line.ends_with(wanted.1), "{shown:?}");
    }
    Ok(())
}

fn asked(command: &str) -> [Value; 2] {
    [
        json!({"type": "tool_started", "call_id": "call_0", "name": "bash", "arguments": {"command": command}}),
        json!({"type": "approval_requested", "call_id": "call_0", "command": command, "approved": null}),
    ]
}

#[tokio::test]
async fn runs_edge_11_a_call_id_that_comes_again_is_another_request() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    emit(&stage, &asked("echo one"))?;
    shown(&mut stage).await?;
    let first = stage.card().await?;
    let ended = json!({"type": "tool_finished", "call_id": "call_0", "name": "bash", "output": "1\n", "ok": true, "skipped": false});
    emit(&stage, std::slice::from_ref(&ended))?;
    // Again within the run, and then in the next one.
    emit(&stage, &asked("echo two"))?;
    shown(&mut stage).await?;
    let second = stage.card().await?;
    emit(&stage, &[ended])?;
    raw(&stage, result("", &json!([])))?;
    over(&mut stage).await?;
    begin(&mut stage, "Again").await?;
    emit(&stage, &asked("echo one"))?;
    shown(&mut stage).await?;
    let third = stage.card().await?;
    // And in another session.
    let other = stage.rig.control.runs().start_scenario("runs-plain")?;
    let mut view = stage.rig.open(&other).await?;
    stage.rig.control.hold_session(Some(&other))?;
    crate::runs::say(&stage.rig, &view, "Go").await?;
    view.until("a running turn", runs).await?;
    stage.rig.control.runs().raw(Some(&other), asked("echo one").iter().map(event).collect::<String>())?;
    let fourth = card(&mut view).await?;
    let ids: std::collections::BTreeSet<&str> =
        [&first, &second, &third].into_iter().map(|request| request.id.as_str()).collect();
    assert_eq!((ids.len(), tools(&stage.view).len()), (3, 3));
    assert_ne!(third.digest, fourth.digest, "the same words in another session are another request");
    assert!(first.id != third.id && stage.view.requests[&first.id].state != RequestState::Open);
    stage.rig.engine.decide(decision(&fourth, "deny")).await?;
    stage.rig.control.until(|seen| seen.decisions.len() == 1).await?;
    let seen = stage.rig.control.counters().decisions;
    assert_eq!(seen[0].request, "call_0", "the server's own id goes back");
    assert_eq!(stage.view.requests[&third.id].state, RequestState::Open);
    Ok(())
}

#[tokio::test]
async fn runs_edge_15_what_nobody_knows_is_shown_word_for_word() -> Result<()> {
    let mut stage = Stage::playing("runs-unknown").await?;
    ran(&mut stage, "Surprise me").await?;
    let shown: Vec<String> = lines(&stage.view).into_iter().filter(|line| line.starts_with("Unknown")).collect();
    let kinds: Vec<&str> =
        shown.iter().filter_map(|line| line.strip_prefix("Unknown ")?.split_once(':')).map(|(what, _)| what).collect();
    assert_eq!(kinds, ["MoodChanged", "telemetry_sampled", "progress", ""], "{shown:?}");
    assert!(shown[1].contains(r#""cpu":0.4"#) && shown[2].contains(r#"{"percent":40}"#), "{shown:?}");
    assert!(says(&stage.view, "Notice Info Server: A frame without a name."), "{}", stage.view.text());
    assert!(says(&stage.view, "That was all."));
    assert_eq!(
        stage.view.header.turn.as_ref().and_then(|turn| turn.stop.clone()),
        Some(contract::session::StopReason::EndTurn)
    );
    Ok(())
}

#[tokio::test]
async fn runs_edge_15_what_a_frame_leaves_out_is_nothing() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    emit(
        &stage,
        &[
            json!({"type": "notice", "text": "No level"}),
            json!({"type": "tool_started", "call_id": "a", "name": "bash"}),
            json!({"type": "approval_requested", "call_id": "a", "command": "ls"}),
        ],
    )?;
    shown(&mut stage).await?;
    let request = stage.card().await?;
    assert_eq!((request.kind, request.work_dir.as_deref()), (RequestKind::Approval, None));
    let level = |body: &ItemBody| matches!(body, ItemBody::Notice(notice) if notice.text == "No level" && notice.level == NoticeLevel::Info);
    assert!(stage.view.items.values().any(|item| level(&item.body)));
    emit(
        &stage,
        &[
            json!({"type": "tool_finished", "call_id": "a", "output": "x\n"}),
            json!({"type": "question_asked", "call_id": "q", "question": "Name?"}),
        ],
    )?;
    shown(&mut stage).await?;
    assert_eq!((tools(&stage.view)[0].name.as_str(), &tools(&stage.view)[0].state), ("bash", &ToolState::Done));
    let question = stage.card().await?;
    assert_eq!((question.questions[0].options.len(), question.questions[0].multiple), (0, false));
    raw(&stage, "event: result\ndata: {}\n\n")?;
    over(&mut stage).await
}

#[tokio::test]
async fn runs_edge_15_bytes_that_are_no_json_do_not_stop_the_rest() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    raw(&stage, "event: event\ndata: {\"type\":\"text_delta\",\n\nevent: event\ndata: [1]\n\n")?;
    emit(&stage, &[json!({"type": "text_delta", "text": "Still here"})])?;
    raw(&stage, result("Still here", &json!([])))?;
    over(&mut stage).await?;
    assert!(says(&stage.view, "Agent Done: Still here"), "{}", stage.view.text());
    assert_eq!(lines(&stage.view).iter().filter(|line| line.starts_with("Unknown")).count(), 2);
    Ok(())
}

#[tokio::test]
async fn runs_edge_15_a_server_that_repeats_no_text_of_a_steer_message_shows_it_once() -> Result<()> {
    let mut stage = Stage::start(RunsManner::of(Generation::First)).await?;
    begin(&mut stage, "SLOW").await?;
    stage.say("And the tests?").await?;
    stage.view.until("the chip", |view| says(view, "User Queued: And the tests?")).await?;
    stage.rig.control.until(|seen| seen.posts.iter().any(|post| post.path.ends_with("/runs/steer"))).await?;
    stage.rig.control.release(None)?;
    stage.view.until("the message, taken in", |view| says(view, "User Done: And the tests?") && is_over(view)).await?;
    assert_eq!(
        stage.view.text().matches("And the tests?").count(),
        2,
        "the message and its echo: {}",
        stage.view.text()
    );
    Ok(())
}
