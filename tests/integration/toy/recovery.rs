//! After a drop, a crash or a lost answer: the history says what became of the turn, and nothing is sent twice.

use anyhow::Result;
use contract::session::{SessionState, StopReason};
use pretty_assertions::assert_eq;

use super::{Rig, is_over, says, stop_of};

#[tokio::test]
async fn what_a_broken_stream_swallowed_is_read_from_the_history_and_nothing_is_sent_again() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.open("one").await?;
    rig.say(view.session(), "say:Heard;silent:Unheard;cut").await?;
    view.until("the whole transcript", |view| says(view, "Agent Done: Unheard") && is_over(view)).await?;
    let lines: Vec<String> =
        view.text().lines().filter(|line| !line.starts_with("Marker")).map(str::to_owned).collect();
    assert_eq!(lines, ["User Done: say:Heard;silent:Unheard;cut", "Agent Done: Heard", "Agent Done: Unheard"]);
    assert_eq!(stop_of(&view), Some(StopReason::Interrupted));
    assert_eq!(rig.toy.posts("/say").len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_message_whose_answer_was_lost_is_found_in_the_history_and_not_sent_again() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.open("one").await?;
    rig.toy.with(|world| world.swallow_say = true);
    rig.say(view.session(), "say:Hello").await?;
    view.until("the message, found", |view| says(view, "User Done: say:Hello")).await?;
    assert_eq!(view.text().matches("User").count(), 1, "{}", view.text());
    view.until("an empty queue", |view| view.header.queued.is_empty()).await?;
    assert_eq!(rig.toy.posts("/say").len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_message_that_never_arrived_waits_for_the_persons_word() -> Result<()> {
    let rig = Rig::start().await?;
    let mut view = rig.open("one").await?;
    rig.toy.with(|world| world.lose_say = true);
    rig.say(view.session(), "say:Hello").await?;
    view.until("a held message", |view| view.header.queued.first().is_some_and(|message| message.held)).await?;
    view.until("no message in the transcript", |view| !view.text().contains("User ")).await?;
    assert_eq!(rig.toy.posts("/say").len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_crash_of_the_app_leaves_a_turn_whose_end_is_found_out() -> Result<()> {
    let mut rig = Rig::start().await?;
    let view = rig.running("say:Hello;silent:Unheard;wait").await?;
    drop(view);
    rig.restart().await?;
    let mut view = rig.open("one").await?;
    view.until("the whole transcript", |view| {
        says(view, "Agent Done: Unheard") && view.header.row.state == SessionState::Idle
    })
    .await?;
    assert_eq!(stop_of(&view), Some(StopReason::Interrupted));
    assert_eq!(view.text().matches("User").count(), 1, "{}", view.text());
    assert_eq!(rig.toy.posts("/say").len(), 1);
    Ok(())
}
