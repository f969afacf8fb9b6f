//! How a run ends without being stopped: no last frame, an error at once, a server that dies (numbers 4, 5, 13, 19).

use anyhow::{Context as _, Result};
use contract::{
    command::{NoArgs, SendMessage, SentImage, ServerRef},
    request::{RequestState, Scope},
    session::{SessionState, StopReason},
};
use practice::{Generation, RunsManner, StreamAct};
use pretty_assertions::assert_eq;
use serde_json::json;
use tests::rig::decision;

use super::hand::{anew, begin, emit, held, lines, over, ran, raw, said};
use crate::runs::{Stage, is_over, says, stop_of};

#[tokio::test]
async fn runs_edge_04_an_end_without_a_last_frame_interrupts_and_asks_what_can_be_taken_up() -> Result<()> {
    let cuts = [
        StreamAct::CutAfter { frames: 2 },
        StreamAct::EndAfter { frames: 1 },
        StreamAct::CutAtByte { bytes: 100 },
        StreamAct::EndAfter { frames: 0 },
    ];
    for cut in cuts {
        let mut stage = Stage::start(RunsManner::default()).await?;
        ran(&mut stage, "Before").await?;
        stage.rig.control.bend_next_stream(cut.clone());
        stage.say("Tell me something").await?;
        stage.view.until("an interrupted turn", |view| stop_of(view) == Some(StopReason::Interrupted)).await?;
        stage.view.until("an offer to resume", |view| view.header.resumable.is_some() && is_over(view)).await?;
        anew(&mut stage).await?;
        let offer = stage.view.header.resumable.clone().context("no offer")?;
        assert_eq!(offer.kind, "call_model", "{cut:?}");
        assert!(offer.description.is_some_and(|words| !words.is_empty()));
        assert_eq!(stage.posted("/prompts"), 2, "{cut:?}");
        let text = stage.view.text();
        assert_eq!(text.matches("User Done: Tell me something").count(), 1, "{cut:?}: {text}");
        assert!(!text.contains("Streaming"), "{cut:?}: {text}");
        stage.rig.engine.resume_run(stage.which()).await?;
        stage.view.until("the rest", |view| stop_of(view) == Some(StopReason::EndTurn) && is_over(view)).await?;
        anew(&mut stage).await?;
        assert!(says(&stage.view, "Agent Done: Hello! You said: Tell me something"), "{cut:?}: {}", stage.view.text());
    }
    Ok(())
}

#[tokio::test]
async fn runs_edge_04_half_a_last_frame_is_none() -> Result<()> {
    let mut stage = held(RunsManner::default()).await?;
    emit(&stage, &[json!({"type": "text_delta", "text": "All of it"})])?;
    raw(&stage, "event: result\ndata: {\"text\":\"All of it\",\"stop\":null")?;
    stage.view.until("the words", |view| says(view, "All of it")).await?;
    stage.rig.control.end_streams();
    stage.view.until("an interrupted turn", |view| stop_of(view) == Some(StopReason::Interrupted)).await?;
    stage.view.until("an idle session", is_over).await
}

#[tokio::test]
async fn runs_edge_05_images_that_are_refused_inside_the_stream_are_said_in_words() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    let images = vec![SentImage { media_type: "image/png".into(), data: "iVBORw0KGgo=".into() }];
    let send = SendMessage { session: stage.view.session(), text: "Look".into(), images };
    stage.rig.engine.send_message(send).await?;
    stage.view.until("the refusal", |view| says(view, "Notice Error") && is_over(view)).await?;
    assert!(matches!(stop_of(&stage.view), Some(StopReason::Error { .. })), "{:?}", stop_of(&stage.view));
    let shown = lines(&stage.view);
    assert!(shown[0].starts_with("User Done: Look[image/png, 8 bytes]"), "{shown:?}");
    assert!(shown[1].contains("does not accept images") && shown[1].contains("without them"), "{shown:?}");
    assert_eq!(said(&stage.view).len(), 0);
    ran(&mut stage, "Without it").await?;
    assert_eq!(stop_of(&stage.view), Some(StopReason::EndTurn));
    Ok(())
}

#[tokio::test]
async fn runs_edge_05_a_provider_that_fails_at_once_leaves_the_message_and_the_words() -> Result<()> {
    for scenario in ["runs-error-first", "runs-error-late"] {
        let mut stage = Stage::playing(scenario).await?;
        stage.say("Hello").await?;
        stage.view.until("the end", |view| says(view, "Notice Error") && is_over(view)).await?;
        let Some(StopReason::Error { message: Some(words) }) = stop_of(&stage.view) else {
            anyhow::bail!("{:?}", stop_of(&stage.view));
        };
        assert!(words.contains("provider"), "{words}");
        assert_eq!(stage.view.text().matches("User Done: Hello").count(), 1);
        stage.view.until("an offer to resume", |view| view.header.resumable.is_some() && is_over(view)).await?;
        stage.rig.engine.resume_run(stage.which()).await?;
        stage.view.until("its end", |view| says(view, "It worked this time.") && is_over(view)).await?;
    }
    Ok(())
}

#[tokio::test]
async fn runs_edge_05_nothing_to_do_is_a_word_and_no_turn() -> Result<()> {
    for generation in [Generation::First, Generation::Second, Generation::Seed] {
        let mut stage = Stage::start(RunsManner::of(generation)).await?;
        ran(&mut stage, "Hello").await?;
        let (before, turn) = (said(&stage.view), stage.view.header.turn.clone());
        stage.rig.engine.resume_run(stage.which()).await?;
        stage.rig.control.until(|seen| seen.posts.iter().any(|post| post.path.ends_with("/runs/resume"))).await?;
        stage.view.until("an idle session", is_over).await?;
        anew(&mut stage).await?;
        assert!(!says(&stage.view, "Notice Error") && !says(&stage.view, "TurnEnd"), "{}", stage.view.text());
        assert_eq!((said(&stage.view), stage.view.header.turn.clone()), (before, turn), "{generation:?}");
    }
    Ok(())
}

#[tokio::test]
async fn runs_edge_13_the_session_counts_up_and_a_turn_counts_for_itself() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    let input = |stage: &Stage| {
        let turn = stage.view.header.turn.as_ref().and_then(|turn| turn.usage.input_tokens);
        (stage.view.header.usage.input_tokens, turn)
    };
    ran(&mut stage, "One").await?;
    assert_eq!(input(&stage), (Some(100), Some(100)));
    ran(&mut stage, "Two").await?;
    assert_eq!(input(&stage), (Some(201), Some(101)));
    begin(&mut stage, "SLOW").await?;
    stage.rig.control.step(&stage.remote)?;
    stage.view.until("a word", |view| said(view).len() == 3).await?;
    stage.rig.engine.stop_session(stage.which()).await?;
    stage.view.until("the end", |view| stop_of(view) == Some(StopReason::Stopped) && is_over(view)).await?;
    let (session, turn) = input(&stage);
    assert_eq!((session, turn.unwrap_or(0)), (Some(201), 0), "a step that was stopped counts nothing");
    Ok(())
}

#[tokio::test]
async fn runs_edge_19_a_server_killed_while_something_waits_asks_again_under_another_id() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.say("RUN:echo kept").await?;
    let always = stage.card().await?;
    let scope =
        always.choices.iter().find(|choice| choice.id == "allow_always").and_then(|choice| choice.scope.clone());
    assert_eq!(scope, Some(Scope::CommandTextUntilServerEnds));
    stage.rig.engine.decide(decision(&always, "allow_always")).await?;
    over(&mut stage).await?;
    stage.say("RUN:echo one").await?;
    stage.view.until("a second card", |view| view.requests.len() == 2 && view.open_requests().len() == 1).await?;
    let first = stage.card().await?;

    stage.rig.control.runs().restart();
    stage.view.until("an interrupted turn", |view| stop_of(view) == Some(StopReason::Interrupted)).await?;
    stage.view.until("an offer to resume", |view| view.header.resumable.is_some() && is_over(view)).await?;
    assert_eq!(stage.view.requests[&first.id].state, RequestState::Void);
    let late = stage.rig.engine.decide(decision(&first, "allow_once")).await;
    assert!(late.is_err(), "a card of a server that died takes nothing");

    stage.rig.engine.resume_run(stage.which()).await?;
    stage.view.until("the same command, asked again", |view| view.open_requests().len() == 1).await?;
    let second = stage.card().await?;
    assert_ne!(first.id, second.id);
    assert_eq!(first.command, second.command);
    stage.rig.engine.decide(decision(&second, "allow_once")).await?;
    stage.view.until("its end", |view| says(view, "The tool said: one") && is_over(view)).await?;
    // What it was told to remember died with it.
    stage.say("RUN:echo kept").await?;
    stage.view.until("a card", |view| view.open_requests().len() == 1).await?;
    Ok(())
}

#[tokio::test]
async fn runs_edge_19_the_empty_session_of_a_new_server_takes_nothing_from_the_old_one() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    ran(&mut stage, "Hello").await?;
    let before = stage.view.text();
    stage.rig.control.runs().restart();
    assert_ne!(stage.rig.control.runs().current(), stage.remote);
    stage.rig.engine.refresh_server(ServerRef { server: stage.rig.server.clone() }).await?;
    stage.rig.engine.retry_now(stage.which()).await?;
    ran(&mut stage, "Still there?").await?;
    assert!(stage.view.text().starts_with(&before), "{}", stage.view.text());
    assert_eq!(stage.rig.control.runs().current(), stage.remote, "the message went to its own session");
    let rows = stage.rig.engine.overview("main", NoArgs {}).await?.sessions;
    let row = rows.iter().find(|row| row.remote_id == stage.remote).context("no row")?;
    assert_eq!(row.state, SessionState::Idle);
    Ok(())
}
