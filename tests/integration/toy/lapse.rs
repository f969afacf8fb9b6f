//! Modes in which commands run unasked, and how long they hold.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use anyhow::{Context as _, Result};
use contract::{
    Millis,
    command::{NoArgs, SetRunOptions},
    session::{ApprovalMode, RunOptions, SessionId, UnaskedMark},
};
use engine::Clock;
use pretty_assertions::assert_eq;

use super::{Rig, is_over, runs, says};

/// A clock that a test sets.
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Millis {
        self.0.load(Ordering::Relaxed)
    }
}

const HOUR_MS: Millis = 3_600_000;

#[tokio::test]
async fn p50_a_mode_that_asks_nobody_lapses_after_an_hour_and_what_runs_goes_on_as_it_was_begun() -> Result<()> {
    let clock = Arc::new(Hands(AtomicI64::new(1_000)));
    let rig = Rig::start_at(clock.clone()).await?;
    let mut view = rig.open("one").await?;
    let session = view.session();
    let options = RunOptions {
        approvals: ApprovalMode::Auto,
        answer_timeout_s: 77,
        // A page cannot make it hold for longer.
        unasked_until: Some(Millis::MAX),
        ..RunOptions::default()
    };
    rig.engine.set_run_options(SetRunOptions { session, options }).await?;
    let auto = |options: &RunOptions| options.approvals == ApprovalMode::Auto;
    view.until("the mode", |view| view.header.run_options.as_ref().is_some_and(auto)).await?;
    let until = view.header.run_options.as_ref().and_then(|options| options.unasked_until);
    assert_eq!(until, Some(1_000 + HOUR_MS));

    rig.say(session, "say:Hello;wait;say:Done").await?;
    view.until("its run", |view| runs(view) && view.header.running_options.as_ref().is_some_and(auto)).await?;
    clock.0.store(1_000 + HOUR_MS, Ordering::Relaxed);
    rig.toy.open_gate("one");
    view.until("its end", |view| says(view, "Agent Done: Done") && is_over(view)).await?;

    rig.say(session, "say:Again;wait").await?;
    view.until("the next run", |view| runs(view) && view.header.running_options.is_some()).await?;
    let asking = RunOptions { answer_timeout_s: 77, ..RunOptions::default() };
    assert_eq!(view.header.running_options, Some(asking.clone()));
    assert_eq!(view.header.run_options, Some(asking));
    Ok(())
}

/// The mark of a session in the lists, as every window is told it.
async fn mark(rig: &Rig, session: SessionId) -> Result<Option<UnaskedMark>> {
    let overview = rig.engine.overview("lists", NoArgs {}).await?;
    let row = overview.sessions.into_iter().find(|row| row.id == session).context("the session has no row")?;
    Ok(row.unasked)
}

#[tokio::test]
async fn p50_a_session_nobody_looks_at_is_marked_for_as_long_as_its_commands_run_unasked() -> Result<()> {
    let clock = Arc::new(Hands(AtomicI64::new(1_000)));
    let mut rig = Rig::start_at(clock.clone()).await?;
    let session = rig.engine.session_by_remote(&rig.server, "one").await?;
    assert_eq!(mark(&rig, session).await?, None);
    let listing = |commands: &[&str]| {
        let commands = commands.iter().map(|command| (*command).to_owned()).collect();
        RunOptions { approvals: ApprovalMode::Commands { commands }, ..RunOptions::default() }
    };
    rig.engine.set_run_options(SetRunOptions { session, options: listing(&["git status", "ls"]) }).await?;
    let until = 1_000 + HOUR_MS;
    let next = UnaskedMark { listed: Some(2), running: false, until: Some(until) };
    let mut view = rig.open("one").await?;
    assert_eq!(mark(&rig, session).await?, Some(next));

    rig.say(session, "say:Hello;wait;say:Done").await?;
    view.until("its run", |view| runs(view) && view.header.row.unasked.is_some_and(|mark| mark.running)).await?;
    // The time runs out for runs that begin; what goes on was begun with the list.
    clock.0.store(until, Ordering::Relaxed);
    rig.engine.wake();
    rig.toy.open_gate("one");
    view.until("its end", |view| says(view, "Agent Done: Done") && is_over(view)).await?;
    view.until("no mark", |view| view.header.row.unasked.is_none()).await?;
    assert_eq!(mark(&rig, session).await?, None);

    // A mode that was chosen before a restart is marked without anybody opening the session, until it is over.
    let options = RunOptions { approvals: ApprovalMode::Auto, ..RunOptions::default() };
    rig.engine.set_run_options(SetRunOptions { session, options }).await?;
    drop(view);
    rig.restart_at(clock.clone()).await?;
    let until = until + HOUR_MS;
    assert_eq!(mark(&rig, session).await?, Some(UnaskedMark { listed: None, running: false, until: Some(until) }));
    clock.0.store(until, Ordering::Relaxed);
    rig.engine.wake();
    assert_eq!(mark(&rig, session).await?, None);
    Ok(())
}
