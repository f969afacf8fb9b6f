//! The history: what came of a call stands in another message, summaries, pictures (number 21).

use anyhow::{Context as _, Result};
use contract::{
    command::ReadPayload,
    item::{ItemBody, Marker, Part, ToolState},
};
use practice::{RequestAct, RunsManner};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tests::{rig::Rig, view::View};

use super::hand::{anew, elsewhere, fresh, lines, tools};
use crate::runs::{Stage, is_over, says, spoken};

#[tokio::test]
async fn runs_edge_21_a_history_is_what_its_streams_were() -> Result<()> {
    for scenario in ["runs-messages", "runs-compaction", "runs-out-of-order", "runs-chinese"] {
        let mut stage = Stage::playing(scenario).await?;
        stage.say("Begin").await?;
        loop {
            stage
                .view
                .until("a card or the end", |view| {
                    !view.open_requests().is_empty() || (view.header.turn.is_some() && is_over(view))
                })
                .await?;
            let Some(request) = stage.view.open_requests().first().map(|request| (*request).clone()) else { break };
            let choice = request.choices.first().context("no choice")?.id.clone();
            let mut yes = tests::rig::decision(&request, &choice);
            if let Some(question) = request.questions.first() {
                let labels = question.options.first().cloned().into_iter().collect();
                let text = question.options.is_empty().then(|| "by hand".to_owned());
                yes.answers = vec![contract::request::Answer { question: question.id.clone(), labels, text }];
            }
            stage.rig.engine.decide(yes).await?;
            let id = request.id;
            stage
                .view
                .until("a settled card", |view| view.requests[&id].state != contract::request::RequestState::Open)
                .await?;
        }
        anew(&mut stage).await?;
        let last = super::hand::said(&stage.view).pop().context("nothing said")?;
        let other = fresh(&stage.rig, &stage.remote, |view| says(view, &last)).await?;
        let unchanged = |line: &&str| !line.contains("unchanged: true");
        let (ours, theirs) = (spoken(&stage.view), spoken(&other));
        let ours: Vec<&str> = ours.lines().filter(unchanged).collect();
        assert_eq!(theirs.lines().collect::<Vec<_>>(), ours, "{scenario}");
    }
    Ok(())
}

/// A server whose history is this.
async fn with_history(messages: Value, there: impl Fn(&View) -> bool) -> Result<(Rig, View)> {
    let rig = Rig::start_runs(RunsManner::default()).await?;
    elsewhere(&rig, "/prompts", &json!({"text": "Hello"})).await?.text().await?;
    let body = json!({"messages": messages}).to_string();
    let reply = RequestAct::Reply { status: 200, content_type: "application/json".into(), body };
    rig.control.fail_next("GET", "/sessions/current/history", reply);
    let mut view = rig.open(&rig.control.runs().current()).await?;
    view.until("the history", |view| !view.header.loading_history && there(view)).await?;
    Ok((rig, view))
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "text": text, "tool_calls": [], "tool_call_id": null, "tool_name": null, "ok": true,
        "images": 0, "pictures": [], "usage": null, "seconds": 0.1})
}

#[tokio::test]
async fn runs_edge_21_results_summaries_and_pictures_find_their_place() -> Result<()> {
    let data = "QUJD".repeat(100_000);
    let call = |id: &str| json!({"call_id": id, "name": "bash", "arguments": {"command": id}, "output": "", "ok": true, "skipped": false});
    let with = |mut message: Value, key: &str, value: Value| {
        message[key] = value;
        message
    };
    let calls = with(message("assistant", "Two calls."), "tool_calls", json!([call("a"), call("b")]));
    let came = |id: &str, text: &str, ok: bool| {
        let came = with(message("tool", text), "tool_call_id", json!(id));
        with(with(came, "tool_name", json!("bash")), "ok", json!(ok))
    };
    let pictured = with(message("user", "Look"), "pictures", json!([{"data": data, "media_type": "image/png"}]));
    let messages = json!([
        message("summary", "What was before."),
        pictured,
        calls,
        came("b", "B failed\n", false),
        came("a", "A\n", true),
        message("assistant", "Done."),
        message("narrator", "Nobody knows this role."),
    ]);
    let (rig, view) = with_history(messages, |view| says(view, "Done.")).await?;
    let shown = lines(&view);
    assert_eq!(shown.len(), 7, "{shown:?}");
    let summary = |body: &ItemBody| matches!(body, ItemBody::Marker(Marker::Compacted { summary: Some(text), active: false, .. }) if text.text == "What was before.");
    assert!(summary(&view.ordered()[0].body), "{shown:?}");
    assert_eq!(shown[1], "User Done: Look[image/png, 300000 bytes]");
    assert_eq!(shown[2], "Agent Done: Two calls.");
    assert_eq!(shown[3], "Tool bash Done a: A\n");
    assert_eq!(shown[4], "Tool bash Failed b: B failed\n");
    assert_eq!(shown[5], "Agent Done: Done.");
    assert!(shown[6].starts_with("Unknown narrator"), "{shown:?}");
    assert!(tools(&view).iter().all(|tool| tool.state != ToolState::Cancelled));
    let handle = view.ordered().into_iter().find_map(|item| match &item.body {
        ItemBody::Message(message) => message.parts.iter().find_map(|part| match part {
            Part::Image { handle, .. } => Some(handle.clone()),
            _ => None,
        }),
        _ => None,
    });
    let read = ReadPayload { session: view.session(), handle: handle.context("no picture")?, from: 0, limit: 262_144 };
    let chunk = rig.engine.read_payload(read).await?;
    assert!(data.starts_with(&chunk.text) && !chunk.text.is_empty());
    Ok(())
}

#[tokio::test]
async fn runs_edge_21_a_history_of_thousands_of_messages_is_there_at_once_and_in_order() -> Result<()> {
    let messages: Vec<Value> = (0..6_000)
        .map(|number| message(if number % 2 == 0 { "user" } else { "assistant" }, &format!("m{number}")))
        .collect();
    let (rig, view) = with_history(json!(messages), |view| says(view, "m5999")).await?;
    let items = crate::edges::stage::whole_transcript(&rig.engine, view.session(), &view).await?;
    let texts: Vec<String> =
        items.iter().map(|item| tests::view::line(item).rsplit(": ").next().unwrap_or_default().to_owned()).collect();
    let wanted: Vec<String> = (0..6_000).map(|number| format!("m{number}")).collect();
    assert_eq!(texts, wanted);
    Ok(())
}

#[tokio::test]
async fn runs_edge_21_a_session_without_messages_has_an_empty_history() -> Result<()> {
    let mut stage = Stage::start(RunsManner::default()).await?;
    stage.view.until("an empty session", |view| !view.header.loading_history && is_over(view)).await?;
    assert_eq!(lines(&stage.view), Vec::<String>::new());
    Ok(())
}
