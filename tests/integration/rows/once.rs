//! P-04: every decision reaches its server exactly once, whatever is lost on the way.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use contract::request::{ChoiceKind, Fate};
use practice::{Command, FaultBody, RequestAct, RequestFault};
use pretty_assertions::assert_eq;
use serde_json::Value;
use tests::{
    rig::{Dialect, Rig, decision},
    view::View,
};
use tokio::task::JoinSet;

use super::{carried_out, waiting_rig};

/// A small generator (xorshift64*): the same drops in every run, named by their seed when one fails.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }
}

fn post_fault(remote: &str, act: RequestAct) -> Command {
    let path = Some(format!("/sessions/{remote}/events"));
    Command::RequestFault(RequestFault { method: Some("POST".to_owned()), path, times: 1, act })
}

fn drop_of_a_post(chance: &mut Chance) -> RequestAct {
    let gateway = |status, body| RequestAct::Status { status, body, retry_after: None };
    match chance.below(5) {
        0 => RequestAct::Reset,
        1 | 2 => RequestAct::LoseAnswer,
        3 => gateway(502, FaultBody::Html),
        _ => gateway(503, FaultBody::Empty),
    }
}

/// One session, one decision, and something lost before, during or after it.
async fn one(rig: Arc<Rig>, seed: u64) -> Result<()> {
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let remote = rig.practice.start_scenario("approval").await?;
    let session = rig.session(&remote).await?;
    let mut view = View::open(&rig.engine, &format!("window {seed}"), session).await?;
    view.until("an open request", |view| view.open_requests().len() == 1).await?;
    let request = view.open_requests()[0].clone();
    let cut = Command::CutStreams { session: Some(remote.clone()) };

    let moment = chance.below(4);
    for _ in 0..=chance.below(2) {
        rig.control.run(post_fault(&remote, drop_of_a_post(&mut chance))).await?;
    }
    if moment == 0 {
        rig.control.run(cut.clone()).await?;
    }
    let choice = if chance.below(2) == 0 { "allow_once" } else { "deny" };
    rig.engine.decide(decision(&request, choice)).await?;
    if moment == 1 {
        rig.control.run(cut.clone()).await?;
    }
    if moment == 2 {
        rig.control.until(|seen| seen.decisions.iter().any(|seen| seen.request == request.id)).await?;
        rig.control.run(cut).await?;
    }
    view.until("the decision settled", |view| view.decisions.values().any(|row| row.fate != Fate::Sending)).await?;
    let fates: Vec<&Fate> = view.decisions.values().map(|row| &row.fate).collect();
    assert_eq!(fates, [&Fate::Accepted], "seed {seed}");
    assert_eq!(carried_out(&rig, &request.id), 1, "seed {seed}");
    let events = rig.control.events(&remote)?;
    let confirmations: Vec<&Value> = events.iter().filter(|event| event["type"] == "user.tool_confirmation").collect();
    assert_eq!(confirmations.len(), 1, "seed {seed}");
    assert_eq!(confirmations[0]["result"], if choice == "deny" { "deny" } else { "allow" }, "seed {seed}");
    Ok(())
}

async fn many(dialect: Dialect, seeds: std::ops::Range<u64>) -> Result<()> {
    let rig = Arc::new(Rig::start(dialect).await?);
    let mut running = JoinSet::new();
    for seed in seeds {
        let rig = Arc::clone(&rig);
        running.spawn(async move { one(rig, seed).await.with_context(|| format!("seed {seed}")) });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(())
}

#[tokio::test]
async fn p04_random_drops_give_exactly_one_decision_each_with_idempotency_keys() -> Result<()> {
    many(Dialect::Qoder, 0..50).await
}

#[tokio::test]
async fn p04_random_drops_give_exactly_one_decision_each_without_idempotency_keys() -> Result<()> {
    many(Dialect::Claude, 50..100).await
}

/// The engine ends while a decision is written down and not settled; the next one settles it.
async fn resumed_after(dialect: Dialect, act: RequestAct, arrived: bool) -> Result<()> {
    let (mut rig, remote, view, request) = waiting_rig(dialect).await?;
    let before = rig.control.counters().requests;
    rig.control.run(post_fault(&remote, act)).await?;
    rig.engine.decide(decision(&request, "deny")).await?;
    if arrived {
        rig.control.until(|seen| seen.accepted(&request.id) == 1).await?;
    } else {
        rig.control.until(|seen| seen.requests > before).await?;
    }
    drop(view);
    rig.restart().await?;
    let mut view = rig.open(&remote).await?;
    view.until("the decision settled", |view| view.decisions.values().any(|row| row.fate == Fate::Accepted)).await?;
    let rows: Vec<_> = view.decisions.values().map(|row| (row.request.as_str(), row.choice)).collect();
    assert_eq!(rows, [(request.id.as_str(), ChoiceKind::Deny)]);
    assert_eq!(carried_out(&rig, &request.id), 1);
    Ok(())
}

#[tokio::test]
async fn p04_a_decision_that_was_written_down_and_not_sent_is_sent_after_a_restart() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        resumed_after(dialect, RequestAct::HalfOpen, false).await?;
    }
    Ok(())
}

#[tokio::test]
async fn p04_a_decision_whose_answer_was_lost_in_a_crash_is_not_made_twice() -> Result<()> {
    for dialect in [Dialect::Qoder, Dialect::Claude] {
        resumed_after(dialect, RequestAct::LoseAnswer, true).await?;
    }
    Ok(())
}

#[tokio::test]
async fn p04_an_unsettled_decision_is_resumed_without_anybody_opening_its_session() -> Result<()> {
    let (mut rig, remote, view, request) = waiting_rig(Dialect::Qoder).await?;
    rig.control.run(post_fault(&remote, RequestAct::Reset)).await?;
    rig.engine.decide(decision(&request, "allow_once")).await?;
    drop(view);
    rig.restart().await?;
    rig.control.until(|seen| seen.accepted(&request.id) == 1).await?;
    Ok(())
}
