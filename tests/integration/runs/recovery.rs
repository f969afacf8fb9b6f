//! After a drop, a crash of the app or of the server: the end of the run is found out, the transcript is whole and
//! without doubles, and nothing is sent twice.

use std::sync::Arc;

use anyhow::Result;
use contract::{
    item::{ItemBody, Marker},
    request::RequestState,
    session::{SessionState, StopReason},
};
use engine::{Clock, MemoryCredentials, SystemClock};
use practice::{Generation, RequestAct, RunsManner, StreamAct};
use pretty_assertions::assert_eq;
use tests::{
    rig::{Rig, decision},
    view::View,
};

use super::{Stage, card, is_over, posted, runs, says, spoken, stop_of};

#[tokio::test]
async fn a_message_that_the_server_refuses_goes_back_to_the_queue_with_its_words() -> Result<()> {
    for status in [400, 401, 409] {
        let mut stage = Stage::start(RunsManner::default()).await?;
        let act = RequestAct::Status { status, body: practice::FaultBody::Json, retry_after: None };
        stage.rig.control.fail_next("POST", "/runs/prompts", act);
        stage.say("Hello").await?;
        stage.view.until("a held message", |view| view.header.queued.first().is_some_and(|kept| kept.held)).await?;
        stage
            .view
            .until("its words and nothing else", |view| says(view, "Notice Error") && !says(view, "User "))
            .await?;
        assert_eq!(stage.posted("/prompts"), 0, "{status}: one that was refused is not sent again by itself");
    }
    Ok(())
}

#[tokio::test]
async fn a_stream_that_breaks_ends_the_turn_as_interrupted_and_offers_to_take_it_up() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.rig.control.bend_next_stream(StreamAct::CutAfter { frames: 3 });
    stage.say("RUN:echo one").await?;
    stage
        .view
        .until("an interrupted turn", |view| stop_of(view) == Some(StopReason::Interrupted) && is_over(view))
        .await?;
    stage.view.until("an offer to resume", |view| view.header.resumable.is_some()).await?;
    assert_eq!(stage.posted("/prompts"), 1);
    stage.rig.engine.resume_run(stage.which()).await?;
    let request = stage.card().await?;
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    stage.view.until("its end", |view| says(view, "The tool said: one") && is_over(view)).await?;
    stage.view.until("nothing left to take up", |view| view.header.resumable.is_none()).await?;
    assert_eq!((stage.posted("/prompts"), stage.posted("/runs/resume")), (1, 1));
    Ok(())
}

#[tokio::test]
async fn nothing_to_take_up_is_no_error_in_either_form() -> Result<()> {
    for generation in [Generation::Second, Generation::Seed] {
        let mut stage = Stage::start(RunsManner::of(generation)).await?;
        stage.run("Hello").await?;
        stage.rig.engine.resume_run(stage.which()).await?;
        stage.view.until("an idle session", is_over).await?;
        assert!(!says(&stage.view, "Notice Error"), "{generation:?}: {}", stage.view.text());
    }
    Ok(())
}

#[tokio::test]
async fn a_run_that_the_end_of_the_app_broke_off_says_so_with_the_time_from_the_record_alone() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    stage.card().await?;
    let Stage { rig, view, .. } = stage;
    let session = view.session();
    drop(view);
    let Rig { engine, practice, dir, .. } = rig;
    let before = SystemClock.now();
    engine.shutdown().await;
    let after = SystemClock.now();
    // With the server gone there is only what the app wrote down as it ended.
    practice.stop().await;
    let engine = tests::rig::engine(dir.path(), Arc::new(MemoryCredentials::default())).await?;
    let view = View::open(&engine, "main", session).await?;
    let closed: Vec<i64> = view.ordered().iter().filter_map(|item| closed_at(&item.body)).collect();
    assert_eq!(closed.len(), 1, "{}", view.text());
    assert!((before..=after).contains(&closed[0]), "{closed:?} is not in {before}..={after}");
    assert_eq!(stop_of(&view), Some(StopReason::Interrupted));
    Ok(())
}

#[tokio::test]
async fn what_became_of_a_run_that_the_end_of_the_app_broke_off_is_found_out_and_told_once() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    stage.card().await?;
    let Stage { mut rig, remote, view } = stage;
    drop(view);
    for _ in 0..2 {
        rig.restart().await?;
        let mut view = rig.open(&remote).await?;
        view.until("an offer to resume", |view| view.header.resumable.is_some()).await?;
        let closed = view.ordered().iter().filter(|item| closed_at(&item.body).is_some()).count();
        assert_eq!(closed, 1, "{}", view.text());
        assert_eq!(stop_of(&view), Some(StopReason::Interrupted));
        assert_eq!(posted(&rig, "/prompts"), 1);
    }
    Ok(())
}

#[tokio::test]
async fn closing_the_app_where_no_run_goes_on_is_no_word_in_any_transcript() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.run("Hello").await?;
    let Stage { mut rig, remote, view } = stage;
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    view.until("the transcript", |view| says(view, "Hello! You said: Hello") && is_over(view)).await?;
    assert!(view.ordered().iter().all(|item| closed_at(&item.body).is_none()), "{}", view.text());
    Ok(())
}

fn closed_at(body: &ItemBody) -> Option<i64> {
    match body {
        ItemBody::Marker(Marker::AppClosed { at }) => Some(*at),
        _ => None,
    }
}

#[tokio::test]
async fn a_crash_of_the_app_in_the_middle_of_a_run_leaves_a_whole_transcript() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    stage.card().await?;
    let Stage { mut rig, remote, view } = stage;
    drop(view);
    rig.crash().await?;
    let mut view = rig.open(&remote).await?;
    view.until("an interrupted turn", |view| {
        stop_of(view) == Some(StopReason::Interrupted) && view.header.row.state == SessionState::Idle
    })
    .await?;
    view.until("an offer to resume", |view| view.header.resumable.is_some()).await?;
    assert!(view.requests.values().all(|request| request.state != RequestState::Open), "{:?}", view.requests);
    assert_eq!(posted(&rig, "/prompts"), 1);
    assert_eq!(view.text().matches("User").count(), 1, "{}", view.text());
    Ok(())
}

#[tokio::test]
async fn a_killed_server_comes_back_with_another_session_and_the_run_is_taken_up_in_its_own() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let first = stage.card().await?;
    stage.rig.control.runs().restart();
    stage.view.until("an interrupted turn", |view| stop_of(view) == Some(StopReason::Interrupted)).await?;
    stage.view.until("an offer to resume", |view| view.header.resumable.is_some()).await?;
    stage.rig.engine.resume_run(stage.which()).await?;
    let second = stage.card().await?;
    assert_ne!(first.id, second.id);
    stage.rig.engine.decide(decision(&second, "allow_once")).await?;
    stage.view.until("its end", |view| says(view, "The tool said: one") && is_over(view)).await?;
    Ok(())
}

#[tokio::test]
async fn a_run_is_taken_up_again_though_the_stream_of_the_turn_that_is_over_has_not_ended_yet() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.rig.control.hold_session(Some(&stage.remote))?;
    stage.say("Go").await?;
    stage.view.until("a running turn", runs).await?;
    let error = serde_json::json!({"error": "provider", "message": "Gone"});
    // Much follows the last word, so that the end of the stream is long on its way.
    let rest = format!(": {}\n\n", "x".repeat(8 << 20));
    stage.rig.control.runs().raw(Some(&stage.remote), format!("event: error\ndata: {error}\n\n{rest}"))?;
    stage.view.until("a turn that is over", |view| view.header.row.state == SessionState::Idle).await?;
    stage.rig.engine.resume_run(stage.which()).await?;
    stage.rig.control.until(|seen| seen.posts.iter().any(|post| post.path.ends_with("/runs/resume"))).await?;
    Ok(())
}

#[tokio::test]
async fn cutting_the_stream_behind_any_frame_gives_the_transcript_that_the_servers_history_has() -> Result<()> {
    for frames in [0, 1, 2, 4, 6, 8, 10, 12] {
        let mut stage = Stage::start(RunsManner::default()).await?;
        stage.run("Before").await?;
        stage.rig.control.bend_next_stream(StreamAct::CutAfter { frames });
        stage.say("THINK and tell").await?;
        stage.view.until("the turn's end", |view| super::turns(view) == 2 && is_over(view)).await?;
        stage.run("After").await?;
        let shown = {
            stage.view.until("the last answer", |view| says(view, "Hello! You said: After")).await?;
            spoken(&stage.view)
        };
        // Another window, of another app that never saw the stream.
        let fresh = {
            let draft = tests::rig::draft(
                &stage.rig.practice.runs_base_url(),
                stage.rig.practice.token(),
                contract::server::ServerOptions::default(),
            );
            let dir = tempfile::tempdir()?;
            let engine =
                tests::rig::engine(dir.path(), std::sync::Arc::new(engine::MemoryCredentials::default())).await?;
            let server = engine.add_server(draft).await?;
            let session = engine.session_by_remote(&server.id, &stage.remote).await?;
            let mut view = tests::view::View::open(&engine, "other", session).await?;
            view.until("the history", |view| says(view, "Hello! You said: After")).await?;
            let text = spoken(&view);
            engine.shutdown().await;
            text
        };
        let whole = |text: &str| text.replace("Agent Incomplete", "Agent Done");
        // What the server never wrote down (it stops with its stream) may stand here all the same, and in its place.
        let mut rest = shown.lines();
        for line in fresh.lines() {
            assert!(
                rest.any(|kept| whole(kept) == line),
                "{frames}: {line}\n--- shown:\n{shown}\n--- history:\n{fresh}"
            );
        }
        assert_eq!(shown.matches("User Done").count(), 3, "{frames}: {shown}");
        stage.rig.engine.shutdown().await;
    }
    Ok(())
}

#[tokio::test]
async fn a_new_token_in_the_middle_of_a_run_keeps_its_stream_and_sends_the_answer_that_was_refused() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    stage.rig.control.rotate_token("another");
    stage.rig.engine.decide(decision(&request, "allow_once")).await?;
    let unauthorized = |server: &contract::server::Server| server.state == contract::server::ServerState::Unauthorized;
    for _ in 0..200 {
        if stage.rig.engine.overview("main", contract::command::NoArgs {}).await?.servers.iter().any(unauthorized) {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(runs(&stage.view));
    let token = contract::command::ReplaceToken {
        server: stage.rig.server.clone(),
        token: "another".to_owned(),
        session_only: true,
        stop_runs: false,
    };
    stage.rig.engine.replace_token(token).await?;
    stage.view.until("its end", |view| says(view, "The tool said: one") && is_over(view)).await?;
    assert_eq!(stage.posted("/prompts"), 1);
    Ok(())
}

#[tokio::test]
async fn a_card_of_a_run_whose_stream_broke_is_void_and_the_next_one_is_answered() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo one").await?;
    let request = stage.card().await?;
    stage.rig.control.cut_streams();
    stage
        .view
        .until("a void card", |view| view.requests[&request.id].state == RequestState::Void && is_over(view))
        .await?;
    stage.say("RUN:echo two").await?;
    let next = card(&mut stage.view).await?;
    stage.rig.engine.decide(decision(&next, "allow_once")).await?;
    stage.view.until("its end", |view| says(view, "The tool said: two") && is_over(view)).await?;
    Ok(())
}
