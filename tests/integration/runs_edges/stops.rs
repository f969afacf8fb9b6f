//! How a run ends when it is stopped (numbers 2, 3 and 14).

use std::time::Duration;

use anyhow::Result;
use contract::{
    command::SessionRef,
    item::ToolState,
    session::{StopReason, StopState},
};
use practice::{RequestAct, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::{rig::decision, view::View};

use super::hand::{anew, begin, emit, event, held, lines, over, ran, raw, result, said, tools};
use crate::{
    rows::pass,
    runs::{Stage, is_over, says, stop_of},
};

fn is_stopped(view: &View) -> bool {
    matches!(view.header.stop, StopState::Confirmed { .. }) && is_over(view)
}

#[tokio::test]
async fn runs_edge_02_both_last_frames_of_a_stopped_run_leave_the_same() -> Result<()> {
    let mut seen = Vec::new();
    for frame in [true, false] {
        let mut stage = Stage::start(RunsManner { cancelled_frame: Some(frame), ..RunsManner::default() }).await?;
        begin(&mut stage, "SLOW").await?;
        for _ in 0..3 {
            stage.rig.control.step(&stage.remote)?;
        }
        stage.view.until("some words", |view| said(view).first().is_some_and(|text| !text.is_empty())).await?;
        stage.rig.control.runs().wait(Some(&stage.remote), Some(true), None, Some(true)).await?;
        stage.rig.engine.stop_session(stage.which()).await?;
        stage.view.until("a confirmed stop", is_stopped).await?;
        anew(&mut stage).await?;
        assert_eq!(stop_of(&stage.view), Some(StopReason::Stopped), "cancelled frame: {frame}");
        let shown = lines(&stage.view);
        assert!(shown.last().is_some_and(|line| line == "Marker TurnEnd { stop: Stopped }"), "{shown:?}");
        // The server keeps nothing of it: what was shown stays, once.
        let Stage { mut rig, remote, view } = stage;
        drop(view);
        rig.restart().await?;
        let mut view = rig.open(&remote).await?;
        view.until("the history", |view| !view.header.loading_history && view.header.resumable.is_some()).await?;
        assert_eq!(lines(&view), shown);
        rig.engine.retry_now(SessionRef { session: view.session() }).await?;
        seen.push(shown);
    }
    assert!(seen[0][1].starts_with("Agent ") && seen[0][1].contains("This answer"), "{seen:?}");
    // A partial result says that its text is all there is: it was cut off all the same.
    assert!(seen[0][1].starts_with("Agent Incomplete"), "{seen:?}");
    assert_eq!(seen[0], seen[1]);
    Ok(())
}

#[tokio::test]
async fn runs_edge_03_a_stop_of_a_run_that_waits_cancels_first_and_then_refuses_what_waits() -> Result<()> {
    for (text, path, no) in [
        ("RUN:echo never", "/runs/approvals", json!({"approve": false})),
        ("ASK:Sure?", "/runs/questions", json!({"answer": null})),
    ] {
        let mut stage = Stage::start(RunsManner::default()).await?;
        stage.say(text).await?;
        stage.card().await?;
        stage.rig.engine.stop_session(stage.which()).await?;
        stage.view.until("a confirmed stop", is_stopped).await?;
        anew(&mut stage).await?;
        let posts = stage.rig.control.counters().posts;
        let paths: Vec<&str> = posts.iter().filter_map(|post| post.path.strip_prefix("/runs")).collect();
        let about: Vec<&str> =
            paths.into_iter().filter(|path| path.starts_with("/runs/") || *path == "/prompts").collect();
        assert_eq!(about, ["/prompts", "/runs/cancel", path]);
        let body = &posts.iter().find(|post| post.path.ends_with(path)).unwrap().body;
        for (key, value) in no.as_object().unwrap() {
            assert_eq!(&body[key], value, "{body}");
        }
        assert!(tools(&stage.view).iter().all(|tool| tool.state != ToolState::Done), "{}", stage.view.text());
        assert_eq!(stage.rig.control.counters().open_streams, 0);
    }
    Ok(())
}

#[tokio::test]
async fn runs_edge_03_a_run_that_does_not_end_for_all_that_is_let_go() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo never").await?;
    stage.card().await?;
    let body = json!({"resolved": true}).to_string();
    let reply = RequestAct::Reply { status: 200, content_type: "application/json".into(), body };
    stage.rig.control.fail_next("POST", "/runs/approvals", reply);
    stage.rig.engine.stop_session(stage.which()).await?;
    for _ in 0..20 {
        if is_stopped(&stage.view) {
            break;
        }
        pass(Duration::from_secs(3)).await;
        // Whatever came of that.
        let _ = tokio::time::timeout(Duration::from_secs(5), stage.view.until("the stop", is_stopped)).await;
    }
    assert!(is_stopped(&stage.view), "{:?}", stage.view.header);
    assert_eq!(stop_of(&stage.view), Some(StopReason::Stopped));
    stage.rig.control.runs().wait(Some(&stage.remote), Some(false), None, None).await?;
    ran(&mut stage, "Go on").await?;
    assert_eq!(stop_of(&stage.view), Some(StopReason::EndTurn));
    Ok(())
}

#[tokio::test]
async fn runs_edge_14_calls_that_only_the_end_tells_of_get_their_end() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    let started =
        |id: &str| json!({"type": "tool_started", "call_id": id, "name": "bash", "arguments": {"command": id}});
    emit(
        &stage,
        &[
            started("a"),
            started("b"),
            started("c"),
            json!({"type": "tool_finished", "call_id": "a", "name": "bash", "output": "A\n", "ok": true, "skipped": false}),
        ],
    )?;
    let tool = |id: &str, output: &str, ok: bool| json!({"call_id": id, "name": "bash", "arguments": {"command": id}, "output": output, "ok": ok, "skipped": false});
    let tools_of =
        json!([tool("a", "A\n", true), tool("b", "", false), tool("c", "C\n", true), tool("d", "no", false)]);
    raw(&stage, result("", &tools_of))?;
    over(&mut stage).await?;
    let states: Vec<_> = tools(&stage.view)
        .into_iter()
        .map(|tool| (tool.subject.clone().unwrap_or_default(), tool.state.clone()))
        .collect();
    let wanted =
        [("a", ToolState::Done), ("b", ToolState::Cancelled), ("c", ToolState::Done), ("d", ToolState::Failed)];
    assert_eq!(states, wanted.map(|(id, state)| (id.to_owned(), state)));
    assert!(says(&stage.view, "Tool bash Done c: C\n"), "{}", stage.view.text());
    Ok(())
}

#[tokio::test]
async fn runs_edge_14_a_command_that_a_stop_cut_short_is_cancelled() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:sleep 600").await?;
    let request = stage.card().await?;
    stage.rig.control.hold_session(Some(&stage.remote))?;
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage.rig.control.runs().wait(Some(&stage.remote), Some(true), Some(false), Some(true)).await?;
    stage.rig.engine.stop_session(stage.which()).await?;
    stage.view.until("a confirmed stop", is_stopped).await?;
    anew(&mut stage).await?;
    assert_eq!(tools(&stage.view)[0].state, ToolState::Cancelled, "{}", stage.view.text());
    assert_eq!(stop_of(&stage.view), Some(StopReason::Stopped));
    Ok(())
}

#[tokio::test]
async fn runs_edge_02_a_cancelled_frame_that_nobody_here_asked_for_ends_the_run() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    emit(&stage, &[json!({"type": "text_delta", "text": "Half a"})])?;
    raw(
        &stage,
        format!(
            "event: cancelled\ndata: {}\n\n{}",
            json!({"type": "cancelled"}),
            event(&json!({"type": "text_delta", "text": "late"}))
        ),
    )?;
    over(&mut stage).await?;
    assert_eq!(stop_of(&stage.view), Some(StopReason::Stopped));
    assert_eq!(said(&stage.view), ["Half a"]);
    assert!(says(&stage.view, "Agent Incomplete: Half a"), "{}", stage.view.text());
    Ok(())
}
