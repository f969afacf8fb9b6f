//! Whatever breaks, and wherever: the transcript becomes what the server's history says.
//!
//! What is compared, for every scenario of the practice server and a further prompt behind it:
//!
//! * **With the history.** The messages, calls (with their output) and summaries that the window shows are those of an
//!   app that never saw the streams and reads the whole history: the same lines in the same order, each as often. A
//!   history knows only that a call failed; that it was denied, or skipped with whatever words, counts as that. It knows
//!   nothing of calls that the model's provider ran, and what was said around them is one text there. What the server
//!   keeps nowhere may stand there besides, in turns that broke off only: the beginning of a message (also one that only
//!   such a call had ended), and after the server's own death the request to the model that died with it.
//! * **With no cut.** Up to the first mark of a turn that broke off, or a line that tells of it before (a message that is
//!   not whole, or is but the beginning of its line there, a call that was cancelled), the lines are those of the same run without trouble; where nothing broke
//!   off, all of them are.
//! * **With itself.** The app started anew on its record shows the same lines.
//!
//! Thoughts, notices and the marks of turns are left out: no history holds them.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use contract::{
    item::{Item, ItemBody, Marker},
    request::{Answer, Decision, Request},
    session::StopReason,
};
use practice::{RunsManner, StreamAct};
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use tests::{
    rig::decision,
    view::{View, line},
};

use super::hand::fresh;
use crate::runs::{Stage, is_over, says, stop_of};

/// What happens while a scenario is played.
#[derive(Debug, Clone)]
struct Trouble {
    /// The first streams break after so many bytes, with an error or like a clean end.
    cuts: Vec<u64>,
    /// What broke is taken up again.
    resumed: bool,
    /// While the first request waits: nothing, the app starts anew, or the server dies.
    meanwhile: Meanwhile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    AppRestarts,
    ServerDies,
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let meanwhile = prop_oneof![
        2 => Just(Meanwhile::Nothing),
        1 => Just(Meanwhile::AppRestarts),
        1 => Just(Meanwhile::ServerDies)
    ];
    (prop::collection::vec(1_u64..5_000, 1..4), any::<bool>(), meanwhile)
        .prop_map(|(cuts, resumed, meanwhile)| Trouble { cuts, resumed, meanwhile })
}

fn is_kept(item: &Item) -> bool {
    match &item.body {
        ItemBody::Message(_) | ItemBody::Tool(_) => true,
        // One that changed nothing has no place in a history.
        ItemBody::Marker(Marker::Compacted { unchanged, .. }) => !unchanged,
        _ => false,
    }
}

fn is_of_the_provider(item: &Item) -> bool {
    matches!(&item.body, ItemBody::Tool(tool) if tool.source.as_deref() == Some("server"))
}

/// What a history holds, as lines with their turns.
fn kept(view: &View) -> Vec<(String, Option<String>)> {
    let mut kept: Vec<(String, Option<String>)> = Vec::new();
    let mut goes_on = false;
    for item in view.ordered().into_iter().filter(|item| is_kept(item)) {
        if is_of_the_provider(item) {
            goes_on = kept.last().is_some_and(|(line, _)| line.starts_with("Agent "));
            continue;
        }
        let line = line(item);
        match (kept.last_mut(), line.strip_prefix("Agent ").and_then(|rest| rest.split_once(": "))) {
            (Some((before, turn)), Some((state, text))) if goes_on && *turn == item.turn => {
                let begun = before.split_once(": ").map_or("", |(_, text)| text);
                *before = format!("Agent {state}: {begun}{text}");
            }
            _ => kept.push((line, item.turn.clone())),
        }
        goes_on = false;
    }
    kept
}

/// Texts that a call of the provider ended.
fn ended_by_the_provider(view: &View) -> BTreeSet<String> {
    let items: Vec<&Item> = view.ordered().into_iter().filter(|item| is_kept(item)).collect();
    items.windows(2).filter(|pair| is_of_the_provider(pair[1])).map(|pair| line(pair[0])).collect()
}

/// Whether a line that is shown is what the history says here: it knows only that a call failed.
fn is_same(shown: &str, history: &str) -> bool {
    let failed = shown.replacen(" Denied { reason: None } ", " Failed ", 1);
    failed == history
        || shown
            .split_once(" Skipped ")
            .is_some_and(|(tool, rest)| history.starts_with(&format!("{tool} Failed {rest}")))
}

/// Whether this marks the end of a turn that broke off.
fn is_break(item: &Item) -> bool {
    let ItemBody::Marker(Marker::TurnEnd { stop }) = &item.body else { return false };
    matches!(stop, StopReason::Interrupted | StopReason::Error { .. })
}

/// Lines that the history does not have, with their turns. `None` where the history has a line that is not shown, or
/// not in this order.
fn besides(shown: &[(String, Option<String>)], history: &[String]) -> Option<Vec<(String, Option<String>)>> {
    let mut history = history.iter().peekable();
    let mut besides = Vec::new();
    for (line, turn) in shown {
        if history.peek().is_some_and(|wanted| is_same(line, wanted)) {
            history.next();
        } else {
            besides.push((line.clone(), turn.clone()));
        }
    }
    history.next().is_none().then_some(besides)
}

fn yes(request: &Request) -> Result<Decision> {
    let choice = request.choices.first().context("no choice")?.id.clone();
    let answer = |question: &contract::request::Question| Answer {
        question: question.id.clone(),
        labels: question.options.first().cloned().into_iter().collect(),
        text: question.options.is_empty().then(|| "by hand".to_owned()),
    };
    Ok(Decision { answers: request.questions.iter().map(answer).collect(), ..decision(request, &choice) })
}

/// The trouble that is left.
struct Left {
    cuts: std::vec::IntoIter<u64>,
    meanwhile: Meanwhile,
    resumed: bool,
    died: bool,
}

impl Left {
    fn bend(&mut self, stage: &Stage) {
        if let Some(bytes) = self.cuts.next() {
            stage.rig.control.bend_next_stream(StreamAct::CutAtByte { bytes });
        }
    }
}

async fn restart(stage: Stage) -> Result<Stage> {
    let Stage { mut rig, remote, view } = stage;
    drop(view);
    rig.restart().await?;
    let view = rig.open(&remote).await?;
    Ok(Stage { rig, remote, view })
}

/// Sends a prompt and sees it through.
async fn prompted(mut stage: Stage, text: &str, left: &mut Left) -> Result<Stage> {
    left.bend(&stage);
    stage.say(text).await?;
    let arrived = format!("User Done: {text}");
    let mut answered = BTreeSet::new();
    loop {
        let waits = |view: &View| view.open_requests().iter().any(|request| !answered.contains(&request.id));
        let over = |view: &View| is_over(view) && says(view, &arrived) && view.header.queued.is_empty();
        let waited = stage.view.until("a card or the end", |view| waits(view) || over(view)).await;
        waited.with_context(|| format!("{:?} {:?}", stage.view.header, stage.view.log))?;
        let open = stage.view.open_requests().into_iter().find(|request| !answered.contains(&request.id)).cloned();
        if let Some(request) = open {
            match std::mem::replace(&mut left.meanwhile, Meanwhile::Nothing) {
                Meanwhile::Nothing => {
                    // It may have been cut meanwhile: then the card is void.
                    let _ = stage.rig.engine.decide(yes(&request)?).await;
                    answered.insert(request.id);
                }
                Meanwhile::AppRestarts => stage = restart(stage).await?,
                Meanwhile::ServerDies => {
                    stage.rig.control.runs().restart();
                    left.died = true;
                    let id = request.id;
                    stage
                        .view
                        .until("a void card", |view| !view.open_requests().iter().any(|open| open.id == id))
                        .await?;
                }
            }
            continue;
        }
        let server = stage.rig.control.runs().wait(Some(&stage.remote), Some(false), None, None).await?;
        if stop_of(&stage.view) != Some(StopReason::Interrupted) || !left.resumed || server["resumable"].is_null() {
            return Ok(stage);
        }
        stage.view.until("an offer", |view| view.header.resumable.is_some() && is_over(view)).await?;
        left.bend(&stage);
        let turn = stage.view.header.turn.as_ref().map(|turn| turn.id.clone());
        // Broken before it was answered: it is offered again.
        if stage.rig.engine.resume_run(stage.which()).await.is_ok() {
            stage
                .view
                .until("another turn", |view| view.header.turn.as_ref().map(|turn| turn.id.clone()) != turn)
                .await?;
        }
    }
}

/// Plays a scenario and gives the lines shown, and how many of them stand before a mark of something that broke off,
/// after holding them to the history and to the record.
async fn transcript(scenario: &str, trouble: Option<&Trouble>) -> Result<(Vec<String>, usize)> {
    let mut left = Left {
        cuts: trouble.map(|trouble| trouble.cuts.clone()).unwrap_or_default().into_iter(),
        meanwhile: trouble.map_or(Meanwhile::Nothing, |trouble| trouble.meanwhile),
        resumed: trouble.is_some_and(|trouble| trouble.resumed),
        died: false,
    };
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.remote = stage.rig.control.runs().start_scenario(scenario)?;
    stage.view = stage.rig.open(&stage.remote).await?;
    stage.rig.control.open_gate(&stage.remote, "middle")?;
    for text in ["Begin", "And then?"] {
        stage = prompted(stage, text, &mut left).await?;
    }
    let server = stage.rig.control.runs().glimpse(Some(&stage.remote))?;
    let other = fresh(&stage.rig, &stage.remote, |view| says(view, "User Done: And then?") && is_over(view)).await?;
    let history: Vec<String> = kept(&other).into_iter().map(|(line, _)| line).collect();
    let same = stage.view.until("what the history says", |view| besides(&kept(view), &history).is_some()).await;
    same.with_context(|| format!("the history:\n{}\nthe server: {server}", history.join("\n")))?;
    let shown = kept(&stage.view);
    let broken: BTreeSet<Option<String>> =
        stage.view.ordered().into_iter().filter(|item| is_break(item)).map(|item| item.turn.clone()).collect();
    // As many as are kept of what stands before the first mark of a break.
    let broke = stage.view.ordered().into_iter().find(|item| is_break(item)).map(|item| item.turn.clone());
    let certain = shown.iter().position(|(_, turn)| broke.as_ref().is_some_and(|broke| turn == broke));
    let in_it = shown.iter().filter(|(_, turn)| broke.as_ref() == Some(turn)).count();
    let certain = certain.map_or(shown.len(), |at| at + in_it);
    let begun = ended_by_the_provider(&stage.view);
    for (line, turn) in besides(&shown, &history).context("not the history")? {
        anyhow::ensure!(broken.contains(&turn), "{line:?} is at no server, and its turn did not break off");
        anyhow::ensure!(
            left.died || line.starts_with("Agent Incomplete") || begun.contains(&line),
            "{line:?} is whole and at no server, and the server did not die"
        );
    }
    let shown: Vec<String> = shown.into_iter().map(|(line, _)| line).collect();
    let stage = restart(stage).await?;
    let again: Vec<String> = kept(&stage.view).into_iter().map(|(line, _)| line).collect();
    anyhow::ensure!(again == shown, "after a restart:\n{}\nbefore:\n{}", again.join("\n"), shown.join("\n"));
    stage.rig.engine.shutdown().await;
    stage.rig.practice.stop().await;
    Ok((shown, certain))
}

/// Whether a line tells that something was cut off right there.
fn tells_of_a_cut(line: &str) -> bool {
    line.starts_with("Agent Incomplete")
        || line.contains("Cancelled")
        || line.contains("Request cancelled before tool completion")
}

/// All scenarios of the protocol.
fn scenarios() -> Vec<String> {
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with("runs-"))
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() > 20, "{names:?}");
    names
}

fn hold(part: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for scenario in scenarios().iter().skip(part).step_by(PARTS) {
        let (whole, _) = runtime.block_on(transcript(scenario, None)).unwrap();
        let config = Config { cases: 4, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        TestRunner::new_with_rng(config, rng)
            .run(&trouble(), |trouble| {
                let got = runtime.block_on(transcript(scenario, Some(&trouble)));
                let (got, certain) = got.map_err(|error| TestCaseError::fail(format!("{scenario}: {error:?}")))?;
                let apart = got.iter().zip(&whole).position(|(got, whole)| got != whole);
                let at = apart.unwrap_or(got.len().min(whole.len()));
                // Behind the first mark of a break the run went another way.
                if at < certain.max(whole.len() * usize::from(certain == got.len())) {
                    let line = got.get(at).map_or("", String::as_str);
                    let is_begun = certain < got.len() && whole.get(at).is_some_and(|whole| whole.starts_with(line));
                    prop_assert!(
                        tells_of_a_cut(line) || is_begun,
                        "{scenario} {trouble:?}: {line:?}\n{}\n---\n{}",
                        got.join("\n"),
                        whole.join("\n")
                    );
                }
                Ok(())
            })
            .unwrap();
    }
}

/// The scenarios are held in so many tests, side by side.
const PARTS: usize = 4;

#[test]
fn runs_edge_every_cut_is_mended_by_the_history_first_part() {
    hold(0);
}

#[test]
fn runs_edge_every_cut_is_mended_by_the_history_second_part() {
    hold(1);
}

#[test]
fn runs_edge_every_cut_is_mended_by_the_history_third_part() {
    hold(2);
}

#[test]
fn runs_edge_every_cut_is_mended_by_the_history_fourth_part() {
    hold(3);
}
