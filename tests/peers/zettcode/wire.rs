//! What the real server puts on the wire: the codec and the practice server are built on it.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{Level, Peer, bytes::Run};

async fn approve(peer: &Peer, call: &Value, approve: bool, remember: bool) -> Result<Value> {
    let answer = json!({"call_id": call["call_id"], "approve": approve, "remember": remember});
    peer.post("/runs/approvals", &answer).await
}

/// Waits until the server says that a request waits: it is published just after its frame has gone out.
async fn pending(peer: &Peer) -> Result<Value> {
    let looked = tokio::time::timeout(std::time::Duration::from_secs(20), async {
        loop {
            let now = peer.get("/runs/current").await?;
            if !now["pending"].is_null() {
                return Ok::<_, anyhow::Error>(now["pending"].clone());
            }
            tokio::task::yield_now().await;
        }
    });
    looked.await.context("nothing came to wait")?
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_comes_after_its_tool_started_and_the_command_runs_in_the_workspace() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "run: echo here > left.txt").await?;
    let asked = run.until("approval_requested").await?;
    ensure!(asked["command"] == "echo here > left.txt" && asked["approved"].is_null(), "{asked}");
    ensure!(!peer.left("left.txt"), "nothing was allowed yet");
    let waits = pending(&peer).await?;
    ensure!(waits["kind"] == "approval" && waits["call_id"] == asked["call_id"], "{waits}");
    ensure!(waits["remember_supported"] == true && waits["command"] == asked["command"], "{waits}");
    ensure!(approve(&peer, &asked, true, false).await? == json!({"resolved": true}));
    let (name, result) = run.end().await?;
    ensure!(name == "result" && result["stop"].is_null(), "{name} {result}");
    ensure!(peer.left("left.txt"));
    let types = run.types();
    ensure!(
        types
            == [
                "text_delta",
                "usage_updated",
                "tool_started",
                "approval_requested",
                "tool_finished",
                "text_delta",
                "usage_updated",
                "finished",
                "result",
            ],
        "{types:?}"
    );
    ensure!(approve(&peer, &asked, true, false).await? == json!({"resolved": false}), "once only");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_command_finishes_as_failed_and_leaves_nothing() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "run: echo here > left.txt").await?;
    let asked = run.until("approval_requested").await?;
    pending(&peer).await?;
    ensure!(approve(&peer, &asked, false, false).await?["resolved"] == true);
    let finished = run.until("tool_finished").await?;
    ensure!(finished["ok"] == false, "{finished}");
    let output = finished["output"].as_str().unwrap_or_default();
    ensure!(output.starts_with("Shell command aborted by user"), "{output}");
    ensure!(run.end().await?.0 == "result" && !peer.left("left.txt"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remembered_command_is_not_asked_again_in_any_session_until_the_server_ends() -> Result<()> {
    let mut peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "run: echo x >> count.txt").await?;
    let asked = run.until("approval_requested").await?;
    pending(&peer).await?;
    ensure!(approve(&peer, &asked, true, true).await?["resolved"] == true);
    run.end().await?;
    for new_session in [false, true] {
        if new_session {
            peer.post("/sessions", &json!({})).await?;
        }
        let mut again = Run::asking(&peer, "run: echo x >> count.txt").await?;
        ensure!(again.end().await?.0 == "result");
        ensure!(again.newest("approval_requested").is_none(), "{}", again.text());
    }
    peer.start_again()?;
    let mut after = Run::asking(&peer, "run: echo x >> count.txt").await?;
    after.until("approval_requested").await?;
    ensure!(std::fs::read_to_string(peer.workspace().join("count.txt"))?.lines().count() == 3);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_without_an_answer_is_noted_and_denied() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let body = json!({"text": "run: echo here > left.txt", "approvals": {"mode": "ask"}, "answer_timeout": 0.2});
    let mut run = Run::start(&peer, body).await?;
    let note = run.until("notice").await?;
    ensure!(note["level"] == "warn" && note["text"] == "No answer within 0.2s; the command was denied.", "{note}");
    ensure!(run.until("tool_finished").await?["ok"] == false);
    ensure!(run.end().await?.0 == "result" && !peer.left("left.txt"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_comes_before_its_tool_started_and_takes_an_answer_or_null() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    for (answer, words) in [(json!("blue, then red"), "blue, then red"), (Value::Null, "declined")] {
        let mut run = Run::asking(&peer, "ask many: Which colours? / red / blue").await?;
        let asked = run.until("question_asked").await?;
        ensure!(run.newest("tool_started").is_none(), "{}", run.text());
        ensure!(asked["options"] == json!(["red", "blue"]) && asked["allow_multiple"] == true, "{asked}");
        let waits = pending(&peer).await?;
        ensure!(waits["kind"] == "question" && waits["question"] == "Which colours?", "{waits}");
        let call = &asked["call_id"];
        let blank = peer.request(reqwest::Method::POST, "/runs/questions");
        let blank = blank.json(&json!({"call_id": call, "answer": " "})).send().await?;
        ensure!(blank.status() == 400, "a blank answer is none");
        let taken = peer.post("/runs/questions", &json!({"call_id": call, "answer": answer})).await?;
        ensure!(taken["resolved"] == true, "{taken}");
        ensure!(run.end().await?.0 == "result");
        let finished = run.newest("tool_finished").context("no result of the tool")?;
        let output = finished["output"].as_str().unwrap_or_default();
        ensure!(finished["name"] == "ask_user" && output.contains(words), "{finished}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_steer_is_taken_in_after_the_running_step() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "hold: first words").await?;
    run.until("text_delta").await?;
    let taken = peer.post("/runs/steer", &json!({"text": "also update docs"})).await?;
    ensure!(taken == json!({"steered": true, "text": "also update docs"}), "{taken}");
    peer.let_go().await?;
    let steered = run.until("steered").await?;
    ensure!(steered["text"] == "also update docs", "{steered}");
    let (name, result) = run.end().await?;
    ensure!(name == "result" && result["text"].as_str().unwrap_or_default().contains("also update docs"), "{result}");
    ensure!(run.newest("steering_finished").is_some(), "{}", run.text());
    let idle = peer.post("/runs/steer", &json!({"text": "too late"})).await?;
    ensure!(idle["steered"] == false, "{idle}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_stream_ends_with_a_partial_result() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "hold: first words").await?;
    run.until("text_delta").await?;
    ensure!(peer.post("/runs/cancel", &json!({})).await? == json!({"cancelled": true}));
    let (name, result) = run.end().await?;
    ensure!(name == "result" && result["stop"].is_null(), "{name} {result}");
    ensure!(peer.post("/runs/cancel", &json!({})).await? == json!({"cancelled": false}));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_while_an_approval_waits_needs_its_answer_and_the_command_never_runs() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    for late in [false, true] {
        let mut run = Run::asking(&peer, "run: echo here > left.txt").await?;
        let asked = run.until("approval_requested").await?;
        pending(&peer).await?;
        ensure!(peer.post("/runs/cancel", &json!({})).await?["cancelled"] == true);
        let now = peer.get("/runs/current").await?;
        ensure!(now["running"] == true && now["pending"]["call_id"] == asked["call_id"], "{now}");
        ensure!(approve(&peer, &asked, late, false).await?["resolved"] == true);
        let (name, result) = run.end().await?;
        ensure!(name == "result", "{name} {result}");
        ensure!(run.newest("tool_finished").is_none() && !peer.left("left.txt"), "{}", run.text());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_asks_again_under_a_new_call_id_once_the_old_session_is_open() -> Result<()> {
    let mut peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "run: echo here > left.txt").await?;
    let asked = run.until("approval_requested").await?;
    let session = peer.get("/health").await?["session"].as_str().context("no session")?.to_owned();
    peer.kill();
    ensure!(run.end().await?.1["type"] == "approval_requested", "no last frame: {}", run.text());
    peer.start_again()?;
    ensure!(peer.get("/health").await?["session"] != session, "a new empty session is current");
    ensure!(peer.get("/runs/resumable").await?["resumable"] == false);
    peer.post(&format!("/sessions/{session}/open"), &json!({})).await?;
    let left = peer.get("/runs/resumable").await?;
    ensure!(left["resumable"] == true && left["kind"].is_string() && left["description"].is_string(), "{left}");
    let mut resumed = Run::resumed(&peer).await?;
    let again = resumed.until("approval_requested").await?;
    ensure!(again["command"] == asked["command"] && again["call_id"] != asked["call_id"], "{again}");
    pending(&peer).await?;
    ensure!(approve(&peer, &again, true, false).await?["resolved"] == true);
    ensure!(resumed.end().await?.0 == "result" && peer.left("left.txt"));
    let mut nothing = Run::resumed(&peer).await?;
    let (name, error) = nothing.end().await?;
    ensure!(name == "error" && error["error"] == "nothing_to_do", "{name} {error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_of_a_run_aside_is_taken_only_when_its_session_is_open() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let mut run = Run::asking(&peer, "run: echo here > left.txt").await?;
    let asked = run.until("approval_requested").await?;
    pending(&peer).await?;
    let first = peer.get("/health").await?["session"].as_str().context("no session")?.to_owned();
    let second = peer.post("/sessions", &json!({"title": "Beside"})).await?["id"].clone();
    ensure!(peer.get("/runs/current").await? == json!({"running": false, "pending": null}));
    let list = peer.get("/sessions").await?;
    let rows = list["sessions"].as_array().context("no list")?;
    let row = rows.iter().find(|row| row["id"] == first.as_str()).context("not listed")?;
    ensure!(row["running"] == true && row["current"] == false, "{row}");
    ensure!(approve(&peer, &asked, true, false).await?["resolved"] == false, "not the current session's");
    let mut beside = Run::asking(&peer, "hello").await?;
    let (_, result) = beside.end().await?;
    ensure!(result["session_id"] == second, "{result}");
    peer.post(&format!("/sessions/{first}/open"), &json!({})).await?;
    ensure!(approve(&peer, &asked, true, false).await?["resolved"] == true);
    let (name, result) = run.end().await?;
    ensure!(name == "result" && result["session_id"] == first.as_str() && peer.left("left.txt"), "{name} {result}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_session_is_not_the_current_one() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    Run::asking(&peer, "hello").await?.end().await?;
    let before = peer.get("/health").await?["session"].clone();
    let copy = peer.post("/sessions/current/fork", &json!({})).await?;
    ensure!(copy["id"].is_string() && copy["id"] != before, "{copy}");
    ensure!(peer.get("/health").await?["session"] == before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_level_deny_refuses_what_the_run_would_ask_about_until_it_is_changed() -> Result<()> {
    let peer = Peer::start(Level::Deny)?;
    let mut run = Run::asking(&peer, "run: echo here > left.txt").await?;
    run.end().await?;
    ensure!(run.newest("approval_requested").is_none() && !peer.left("left.txt"), "{}", run.text());
    ensure!(run.newest("tool_finished").is_some_and(|end| end["ok"] == false), "{}", run.text());
    let settings = peer.request(reqwest::Method::PATCH, "/settings").json(&json!({"permission": "ask"}));
    let settings: Value = settings.send().await?.error_for_status()?.json().await?;
    ensure!(settings["permission"] == "ask", "{settings}");
    Run::asking(&peer, "run: echo here > left.txt").await?.until("approval_requested").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_refused_everywhere_but_at_health() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let plain = reqwest::Client::builder().no_proxy().build()?;
    let health = plain.get(format!("{}/health", peer.base())).send().await?;
    ensure!(health.status() == 200);
    let refused = plain.get(format!("{}/settings", peer.base())).bearer_auth("another").send().await?;
    ensure!(refused.status() == 401 && refused.headers().get("www-authenticate").is_some(), "{refused:?}");
    let error: Value = refused.json().await?;
    ensure!(error["error"] == "unauthorized", "{error}");
    let none = peer.request(reqwest::Method::GET, "/sessions/current/history?full=true").send().await?;
    ensure!(none.status() == 404, "a session without messages has no history");
    Ok(())
}
