//! The hand that writes a run's bytes: its server holds the run before its first word.

use anyhow::Result;
use contract::{
    item::{ItemBody, Message, Part, Role, ToolCall},
    server::ServerOptions,
};
use practice::RunsManner;
use serde_json::{Value, json};
use tests::{
    rig::{Rig, draft, engine},
    view::{View, line},
};

use crate::runs::{Stage, is_over, runs};

/// A run that was begun and says nothing of its own.
pub async fn held(manner: RunsManner) -> Result<Stage> {
    let mut stage = Stage::start(manner).await?;
    begin(&mut stage, "Go").await?;
    Ok(stage)
}

/// Begins another one.
pub async fn begin(stage: &mut Stage, text: &str) -> Result<()> {
    stage.rig.control.hold_session(Some(&stage.remote))?;
    stage.say(text).await?;
    stage.view.until("a running turn", runs).await
}

/// Shows the session anew: what waits and what is over reach a window before the texts do.
pub async fn anew(stage: &mut Stage) -> Result<()> {
    stage.view = View::open(&stage.rig.engine, "main", stage.view.session()).await?;
    Ok(())
}

/// Waits for the end of the run, and shows all of it.
pub async fn over(stage: &mut Stage) -> Result<()> {
    stage.view.until("the end", is_over).await?;
    anew(stage).await
}

/// Sends a message, waits for the end of its run, and shows all of it.
pub async fn ran(stage: &mut Stage, text: &str) -> Result<()> {
    stage.run(text).await?;
    anew(stage).await
}

/// Puts bytes on the run's stream.
pub fn raw(stage: &Stage, bytes: impl Into<Vec<u8>>) -> Result<()> {
    Ok(stage.rig.control.runs().raw(Some(&stage.remote), bytes.into())?)
}

/// Puts events on the run's stream.
pub fn emit(stage: &Stage, events: &[Value]) -> Result<()> {
    raw(stage, events.iter().map(event).collect::<String>())
}

/// A frame of one event.
pub fn event(event: &Value) -> String {
    format!("event: event\ndata: {event}\n\n")
}

/// The last frame of a run.
pub fn result(text: &str, tools: &Value) -> String {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let body = json!({"text": text, "session_id": "s", "usage": usage, "tools": tools, "stop": null,
        "stop_message": null, "questions": []});
    format!("event: result\ndata: {body}\n\n")
}

/// Waits until what was put on the stream so far is shown: a stream is shown in its order.
pub async fn shown(stage: &mut Stage) -> Result<()> {
    let before = marks(&stage.view);
    emit(stage, &[json!({"type": "notice", "text": "mark", "level": "info"})])?;
    stage.view.until("the mark", |view| marks(view) > before).await
}

const MARK: &str = "Notice Info Server: mark";

fn marks(view: &View) -> usize {
    view.text().lines().filter(|line| *line == MARK).count()
}

/// The transcript without the marks, line by line.
pub fn lines(view: &View) -> Vec<String> {
    view.ordered().into_iter().map(line).filter(|line| line != MARK).collect()
}

/// What the agent said, in order.
pub fn said(view: &View) -> Vec<String> {
    let text = |part: &Part| if let Part::Text(text) = part { text.text.clone() } else { String::new() };
    view.ordered()
        .into_iter()
        .filter_map(|item| match &item.body {
            ItemBody::Message(Message { role: Role::Agent, parts, .. }) => Some(parts.iter().map(text).collect()),
            _ => None,
        })
        .collect()
}

/// The calls, in order.
pub fn tools(view: &View) -> Vec<&ToolCall> {
    view.ordered()
        .into_iter()
        .filter_map(|item| if let ItemBody::Tool(tool) = &item.body { Some(tool) } else { None })
        .collect()
}

/// What another client asks of the server.
pub async fn elsewhere(rig: &Rig, path: &str, body: &Value) -> Result<reqwest::Response> {
    let request = reqwest::Client::new().post(format!("{}{path}", rig.practice.runs_base_url()));
    Ok(request.bearer_auth(rig.practice.token()).json(body).send().await?.error_for_status()?)
}

/// A session as an app shows it that never saw its streams.
pub async fn fresh(rig: &Rig, remote: &str, there: impl Fn(&View) -> bool) -> Result<View> {
    let dir = tempfile::tempdir()?;
    let engine = engine(dir.path(), std::sync::Arc::new(engine::MemoryCredentials::default())).await?;
    let draft = draft(&rig.practice.runs_base_url(), rig.practice.token(), ServerOptions::default());
    let server = engine.add_server(draft).await?;
    let session = engine.session_by_remote(&server.id, remote).await?;
    let mut view = View::open(&engine, "fresh", session).await?;
    view.until("the history", |view| !view.header.loading_history && there(view)).await?;
    engine.shutdown().await;
    Ok(view)
}
