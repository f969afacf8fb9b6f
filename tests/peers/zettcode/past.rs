//! What the real server's history holds of what its streams showed: the transcript is mended from it.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{Level, Peer, bytes::Run};

/// Role and text of every message.
async fn past(peer: &Peer) -> Result<Vec<(String, String)>> {
    let history = peer.get("/sessions/current/history?full=true").await?;
    let messages = history["messages"].as_array().context("no messages")?;
    let word = |message: &Value, name: &str| message[name].as_str().unwrap_or_default().to_owned();
    Ok(messages.iter().map(|message| (word(message, "role"), word(message, "text"))).collect())
}

fn roles(past: &[(String, String)]) -> Vec<&str> {
    past.iter().map(|(role, _)| role.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_a_cancel_cut_off_is_nowhere_and_the_run_can_be_taken_up() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "hold: first words").await?;
    run.until("text_delta").await?;
    peer.post("/runs/cancel", &json!({})).await?;
    run.end().await?;
    ensure!(roles(&past(&peer).await?) == ["user"], "{:?}", past(&peer).await?);
    let left = peer.get("/runs/resumable").await?;
    ensure!(left["resumable"] == true && left["kind"] == "call_model", "{left}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_dropped_connection_cut_off_has_failed() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "run: echo here > left.txt").await?;
    run.until("approval_requested").await?;
    drop(run);
    let stopped = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        while peer.get("/runs/current").await?["running"] == true {
            tokio::task::yield_now().await;
        }
        Ok::<_, anyhow::Error>(())
    });
    stopped.await.context("the run goes on without its reader")??;
    let past = past(&peer).await?;
    ensure!(roles(&past) == ["user", "assistant", "tool"], "{past:?}");
    ensure!(past.last().is_some_and(|(_, text)| text == "Request cancelled before tool completion"), "{past:?}");
    ensure!(!peer.left("left.txt"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn steers_are_messages_of_the_person_each_behind_the_answer_before() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "hold: first words").await?;
    run.until("text_delta").await?;
    for text in ["also docs", "and tests"] {
        peer.post("/runs/steer", &json!({"text": text})).await?;
    }
    peer.let_go().await?;
    run.end().await?;
    let steering: Vec<String> = run.types().into_iter().filter(|kind| kind.contains("steer")).collect();
    ensure!(steering == ["steered", "steering_finished", "steered", "steering_finished"], "{steering:?}");
    let past = past(&peer).await?;
    ensure!(roles(&past) == ["user", "assistant", "user", "assistant", "user", "assistant"], "{past:?}");
    ensure!(past[2].1 == "also docs" && past[4].1 == "and tests", "{past:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_calls_the_second_is_asked_about_before_the_first_has_finished() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "run: echo one\nrun: echo two").await?;
    for (command, approve) in [("echo one", true), ("echo two", false)] {
        let asked = run.until("approval_requested").await?;
        ensure!(asked["command"] == command && run.newest("tool_finished").is_none(), "{}", run.text());
        let answer = json!({"call_id": asked["call_id"], "approve": approve});
        ensure!(peer.post("/runs/approvals", &answer).await?["resolved"] == true);
    }
    let (_, result) = run.end().await?;
    let ends: Vec<&Value> = result["tools"].as_array().context("no tools")?.iter().map(|tool| &tool["ok"]).collect();
    ensure!(ends == [&json!(true), &json!(false)], "{result}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_is_told_behind_the_message_that_caused_it_and_kept_in_front_of_it() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    for text in ["one", "two", "three", "four", "five", "six"] {
        Run::asking(&peer, text).await?.end().await?;
    }
    let long = format!("big {}", "word ".repeat(66_000));
    let mut run = Run::asking(&peer, &long).await?;
    run.end().await?;
    let types = run.types();
    ensure!(types.starts_with(&["compaction_started", "compaction_delta", "compaction_finished"].map(str::to_owned)));
    ensure!(
        run.newest("compaction_finished").is_some_and(|end| end["applied"] == true),
        "{:?}",
        run.newest("compaction_finished")
    );
    let summary = run.newest("compaction_finished").context("none")?["summary"].as_str().unwrap_or_default().to_owned();
    let past = past(&peer).await?;
    let place = past.iter().position(|(role, _)| role == "summary").context("no summary in the history")?;
    ensure!(past[place].1 == summary && past[place + 1].1.starts_with("big word"), "{summary:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_a_title_is_listed_from_its_first_message_on() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let ids = |list: &Value| -> Vec<Value> {
        list["sessions"].as_array().into_iter().flatten().map(|row| row["id"].clone()).collect()
    };
    let titled = peer.post("/sessions", &json!({"title": "Titled"})).await?["id"].clone();
    ensure!(past(&peer).await?.is_empty(), "a titled session has an empty history");
    let plain = peer.post("/sessions", &json!({})).await?["id"].clone();
    ensure!(ids(&peer.get("/sessions").await?) == std::slice::from_ref(&titled));
    Run::asking(&peer, "hello").await?.end().await?;
    ensure!(ids(&peer.get("/sessions").await?) == [plain, titled]);
    Ok(())
}
