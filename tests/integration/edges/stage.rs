//! A session of the practice server in a window, and the hand that writes its events.

use anyhow::{Context as _, Result};
use contract::{
    command::{ReadItems, SendMessage, SessionRef},
    connection::{ConnectionLogKind, ConnectionState},
    error::AppError,
    item::{Item, ItemBody, Message, Part, Role},
    session::{SessionId, SessionState},
};
use engine::Engine;
use practice::WaitFor;
use reqwest::Method;
use serde_json::{Value, json};
use tests::{
    rig::{Dialect, Rig},
    view::{View, line},
};

/// How the line of a mark begins.
const MARK: &str = "System Done: mark ";

/// A session, shown.
pub struct Stage {
    pub rig: Rig,
    pub remote: String,
    pub view: View,
    marks: usize,
}

impl Stage {
    /// Starts a scenario and shows its session.
    pub async fn play(scenario: &str, metadata: &[(&str, &str)]) -> Result<Self> {
        Self::on(Rig::start(Dialect::Qoder).await?, scenario, metadata).await
    }

    /// The same with a server of one's own.
    pub async fn on(rig: Rig, scenario: &str, metadata: &[(&str, &str)]) -> Result<Self> {
        let (remote, view) = rig.play(scenario, metadata).await?;
        Ok(Self::over(rig, remote, view))
    }

    /// Over a session that is shown already.
    pub fn over(rig: Rig, remote: String, view: View) -> Self {
        Self { rig, remote, view, marks: 0 }
    }

    /// A session that the engine has not seen, played to its end.
    pub async fn finished(rig: &Rig, scenario: &str, metadata: &[(&str, &str)]) -> Result<String> {
        let remote = rig.practice.start_scenario_with(scenario, metadata).await?;
        let idle = Some("session.status_idle".to_owned());
        rig.control.wait(&WaitFor { session: Some(remote.clone()), event_type: idle, ..WaitFor::default() }).await?;
        Ok(remote)
    }

    /// A session whose only turn is over and whose stream is open: what is written now is all that comes.
    pub async fn idle(metadata: &[(&str, &str)]) -> Result<Self> {
        let mut stage = Self::play("plain", metadata).await?;
        stage.settle().await?;
        Ok(stage)
    }

    /// Waits until the turn is over, the stream is open and everything sent so far is shown.
    pub async fn settle(&mut self) -> Result<()> {
        let idle =
            |view: &View| view.header.row.state == SessionState::Idle && is_live(view) && !view.header.loading_history;
        let waited = self.view.until("an idle session on an open stream", idle).await;
        waited.with_context(|| format!("{:?} {:?}", self.view.header, self.view.requests))?;
        self.shown().await
    }

    /// Waits until the stream is open.
    pub async fn live(&mut self) -> Result<()> {
        self.view.until("an open stream", is_live).await
    }

    /// Writes an event into the session: it is streamed and listed.
    pub fn emit(&self, event: Value) -> Result<String> {
        Ok(self.rig.control.emit(&self.remote, event)?)
    }

    /// Sends bytes on the open stream: no list knows them.
    pub fn raw(&self, bytes: impl Into<Vec<u8>>) -> Result<()> {
        Ok(self.rig.control.raw(&self.remote, bytes.into())?)
    }

    /// Waits until everything written so far is shown: what comes on a stream is shown in its order.
    pub async fn shown(&mut self) -> Result<()> {
        let first = self.mark()?;
        self.streamed(&first).await?;
        self.mark()?;
        let text = format!("{MARK}{}", self.marks);
        self.view.until(&text, |view| view.items.values().any(|item| line(item) == text)).await
    }

    fn mark(&mut self) -> Result<String> {
        self.marks += 1;
        self.emit(json!({"type": "system.message", "content": blocks(&format!("mark {}", self.marks))}))
    }

    /// Waits until an open stream has brought this event. That it is shown does not say so: a list that was being read
    /// may have brought it before what was written on the stream alone.
    async fn streamed(&self, id: &str) -> Result<()> {
        let begin = std::time::Instant::now();
        while begin.elapsed() < std::time::Duration::from_secs(120) {
            let header = self.window("stream").await?.header;
            let events = self.rig.control.events(&self.remote)?;
            let place = |id: &str| events.iter().position(|event| event["id"] == id);
            // Control tells no ids as numbers, as some servers send them; who has them writes no bytes by hand.
            let number = header.cursor.as_deref().is_some_and(|cursor| cursor.parse::<u64>().is_ok());
            let passed = number || header.cursor.as_deref().and_then(place) >= place(id);
            if passed || !matches!(header.connection, ConnectionState::Live { .. }) {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
        anyhow::bail!("the stream did not bring {id}")
    }

    /// The transcript without the marks.
    pub async fn text(&mut self) -> Result<String> {
        self.shown().await?;
        Ok(without_marks(&self.view.text()))
    }

    /// Breaks the stream off and waits until another one is open and caught up.
    pub async fn reconnect(&mut self) -> Result<()> {
        let opened = self.rig.control.counters().opened.len();
        self.rig.control.cut_streams();
        self.back(opened).await
    }

    /// Waits for the stream after so many, and until it has caught up.
    pub async fn back(&mut self, opened: usize) -> Result<()> {
        let rows = self.resumed().len();
        self.view.until("a broken stream", |view| !is_live(view) || opens(view) > opened).await?;
        self.rig.engine.retry_now(SessionRef { session: self.view.session() }).await?;
        self.rig.control.until(|seen| seen.opened.len() > opened && seen.open_streams > 0).await?;
        self.view.until("a stream that caught up", |view| is_live(view) && resumed(view).len() > rows).await
    }

    /// The connection log's rows of streams that came back: what was new, what was known.
    pub fn resumed(&self) -> Vec<(u32, u32)> {
        resumed(&self.view)
    }

    /// Another window, or the same one anew.
    pub async fn window(&self, name: &str) -> Result<View> {
        View::open(&self.rig.engine, name, self.view.session()).await
    }

    /// Ends the engine, starts another on the same record, and shows the session again.
    pub async fn restart(&mut self) -> Result<()> {
        self.rig.restart().await?;
        let session = self.rig.session(&self.remote).await?;
        self.view = View::open(&self.rig.engine, "main", session).await?;
        Ok(())
    }

    /// What another client asks of this session; `path` goes on from the session's own.
    pub async fn elsewhere(&self, method: Method, path: &str, body: &Value) -> Result<u16> {
        let address = format!("{}/sessions/{}{path}", self.rig.practice.base_url(), self.remote);
        let request = reqwest::Client::new().request(method, address).bearer_auth(self.rig.practice.token());
        let answer = request.header("content-type", "application/json").body(body.to_string()).send().await?;
        Ok(answer.status().as_u16())
    }

    /// Another client's answer to a request.
    pub async fn confirm_elsewhere(&self, request: &str, result: &str) -> Result<u16> {
        let event = json!({"type": "user.tool_confirmation", "tool_use_id": request, "result": result});
        self.elsewhere(Method::POST, "/events", &json!({"events": [event]})).await
    }

    /// How often the server holds a message of the person with this text.
    pub fn messages_at_server(&self, text: &str) -> Result<usize> {
        let events = self.rig.control.events(&self.remote)?;
        let is_it = |event: &&Value| event["type"] == "user.message" && event["content"][0]["text"] == text;
        Ok(events.iter().filter(is_it).count())
    }

    /// Sends a message as the person does.
    pub async fn send(&self, text: &str) -> Result<(), AppError> {
        self.rig
            .engine
            .send_message(SendMessage { session: self.view.session(), text: text.to_owned(), images: Vec::new() })
            .await
    }

    /// The items of a kind, in order, as lines.
    pub fn lines(&self, wanted: impl Fn(&ItemBody) -> bool) -> Vec<String> {
        self.view.ordered().into_iter().filter(|item| wanted(&item.body)).map(line).collect()
    }

    /// What the agent said, in order.
    pub async fn said(&mut self) -> Result<Vec<String>> {
        self.shown().await?;
        Ok(self.view.ordered().into_iter().filter_map(agent_text).collect())
    }

    /// The notices, in order.
    pub async fn notices(&mut self) -> Result<Vec<String>> {
        self.shown().await?;
        Ok(self.lines(|body| matches!(body, ItemBody::Notice(_))))
    }

    /// The cursor that the next connection resumes after. A window is told of it with the next change of the header, so
    /// this asks anew.
    pub async fn cursor(&self) -> Result<Option<String>> {
        Ok(self.window("cursor").await?.header.cursor)
    }

    pub async fn stop(self) {
        self.rig.engine.shutdown().await;
        self.rig.practice.stop().await;
    }
}

fn is_live(view: &View) -> bool {
    matches!(view.header.connection, ConnectionState::Live { .. })
}

fn opens(view: &View) -> usize {
    view.log.iter().filter(|row| row.what == ConnectionLogKind::Connected).count()
}

/// The connection log's rows of streams that came back: what was new, what was known.
pub fn resumed(view: &View) -> Vec<(u32, u32)> {
    view.log
        .iter()
        .filter_map(|row| match row.what {
            ConnectionLogKind::Resumed { recovered, duplicates, .. } => Some((recovered, duplicates)),
            _ => None,
        })
        .collect()
}

fn agent_text(item: &Item) -> Option<String> {
    match &item.body {
        ItemBody::Message(Message { role: Role::Agent, parts, .. }) => Some(
            parts
                .iter()
                .map(|part| if let Part::Text(text) = part { text.text.as_str() } else { "?" })
                .collect::<String>(),
        ),
        _ => None,
    }
}

/// A transcript without the lines that only the stage wrote.
pub fn without_marks(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with(MARK)).collect::<Vec<_>>().join("\n")
}

/// Text blocks.
pub fn blocks(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// A frame as the server writes it.
pub fn frame(id: &str, name: &str, data: &Value) -> String {
    format!("id: {id}\nevent: {name}\ndata: {data}\n\n")
}

/// A message of the agent.
pub fn said(text: &str) -> Value {
    json!({"type": "agent.message", "content": blocks(text)})
}

/// The frames of a preview up to this text.
pub fn preview(id: &str, pieces: &[&str]) -> String {
    let start = json!({"type": "event_start", "event": {"id": id, "type": "agent.message"}});
    let mut frames = frame(id, "event_start", &start);
    for piece in pieces {
        frames.push_str(&delta(id, 0, piece));
    }
    frames
}

/// One delta of a preview.
pub fn delta(id: &str, index: u32, text: &str) -> String {
    let content = json!({"type": "content_delta", "index": index, "content": {"type": "text", "text": text}});
    frame(id, "event_delta", &json!({"type": "event_delta", "event_id": id, "delta": content}))
}

/// The whole transcript of a session, read page by page, oldest first.
pub async fn whole_transcript(engine: &Engine, session: SessionId, view: &View) -> Result<Vec<Item>> {
    let mut items: Vec<Item> = view.ordered().into_iter().cloned().collect();
    loop {
        let before = items.first().context("an empty transcript")?.id.clone();
        let page = engine.read_items(ReadItems { session, before, limit: 500 }).await?;
        let more = page.has_older;
        items.splice(0..0, page.items);
        if !more {
            return Ok(items);
        }
    }
}
