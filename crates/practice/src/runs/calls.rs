//! Tool calls, approvals and questions of a run (§4 and §6).

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Permission,
    desk::{Pending, Settled},
    event::Event,
    free,
    http::schema::Mode,
    player::{Broken, Player},
    shape::{Message, PendingOut, Tool},
};
use crate::scenario::{Call, Question};

/// The limit of a command itself, as `/runs/current` says it.
const COMMAND_SECONDS: u64 = 30;

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Runs,
    Refused { output: String, denied: bool },
    Skipped,
}

/// The command of a call that a shell runs.
fn command(call: &Call) -> Option<&str> {
    call.input.get("command").and_then(Value::as_str)
}

fn work_dir(call: &Call) -> Option<String> {
    call.input.get("work_dir").and_then(Value::as_str).map(str::to_owned)
}

fn aborted(command: &str) -> String {
    format!("Shell command aborted by user: {command}")
}

/// The call that writes a file of a script.
pub(crate) fn written(name: &str, content_type: &str, text: &str) -> Call {
    Call {
        name: "write_file".into(),
        input: json!({"path": name, "content": text}),
        result: format!("Created {name} ({content_type})"),
        ..Call::default()
    }
}

/// What a call gives back, filled up to its size.
pub(crate) fn output_of(call: &Call) -> String {
    let mut text = call.result.clone();
    let mut line = 0_u64;
    while text.len() < call.result_bytes {
        line += 1;
        text.push_str(&format!("{line:08} the quick brown fox jumps over the lazy dog\n"));
    }
    if call.result_bytes > 0 && text.is_ascii() {
        text.truncate(call.result_bytes);
    }
    text
}

impl Player {
    /// Calls that the model made in one request. `gated` = their commands need somebody's word.
    pub(super) async fn calls(&mut self, calls: Vec<Call>, finish: Vec<usize>, gated: bool) -> Result<(), Broken> {
        let tools = self.announced(&calls);
        self.close_request(tools.clone());
        let first = self.tools.len();
        for tool in &tools {
            let started = Event::ToolStarted {
                call_id: tool.call_id.clone(),
                name: tool.name.clone(),
                arguments: tool.arguments.clone(),
            };
            self.emit(&started);
            // Until it ends, a call counts as one that came to nothing (edge 14).
            self.tools.push(Tool { ok: false, ..tool.clone() });
        }
        let mut verdicts = Vec::new();
        for (call, tool) in calls.iter().zip(&tools) {
            verdicts.push(self.verdict(call, &tool.call_id, gated, !verdicts.is_empty()).await?);
        }
        let order = if finish.len() == calls.len() { finish } else { (0..calls.len()).collect() };
        for place in order {
            if let (Some(call), Some(tool), Some(verdict)) = (calls.get(place), tools.get(place), verdicts.get(place)) {
                self.end_call(call, tool, verdict, first + place).await;
            }
        }
        for (call, verdict) in calls.into_iter().zip(verdicts).rev() {
            let denied = matches!(verdict, Verdict::Refused { denied: true, .. });
            let next = if denied { call.deny } else { call.allow };
            for step in next.into_iter().rev() {
                self.steps.push_front(step);
            }
        }
        self.steer();
        Ok(())
    }

    fn announced(&self, calls: &[Call]) -> Vec<Tool> {
        let number = self.runs().change(|desk| {
            desk.calls += 1;
            desk.calls
        });
        let named = |(place, call): (usize, &Call)| Tool {
            call_id: format!("call_{number}_{place}"),
            name: call.name.clone(),
            arguments: call.input.clone(),
            output: String::new(),
            ok: true,
            skipped: false,
        };
        calls.iter().enumerate().map(named).collect()
    }

    async fn end_call(&mut self, call: &Call, tool: &Tool, verdict: &Verdict, place: usize) {
        let (output, ok, skipped) = match verdict {
            Verdict::Runs => {
                self.pause(call.ms).await;
                (output_of(call), !call.error, false)
            }
            Verdict::Refused { output, .. } => (output.clone(), false, false),
            Verdict::Skipped => ("Skipped: a newer message came first.".to_owned(), false, true),
        };
        self.words.insert("{output}", free::shortened(&output));
        let tool = Tool { output, ok, skipped, ..tool.clone() };
        if let Some(kept) = self.tools.get_mut(place) {
            kept.clone_from(&tool);
        }
        self.keep_result(&tool);
        let Tool { call_id, name, output, ok, skipped, .. } = tool;
        self.emit(&Event::ToolFinished { call_id, name, output, ok, skipped });
    }

    fn keep_result(&self, tool: &Tool) {
        self.store(|desk, session| {
            if let Some(session) = desk.session_mut(session) {
                session.push(Message::result(tool));
            }
        });
    }

    async fn verdict(&mut self, call: &Call, id: &str, gated: bool, waited: bool) -> Result<Verdict, Broken> {
        if call.skipped || (waited && self.manner.skip_on_steer && self.with_run(|run| !run.steers.is_empty())) {
            return Ok(Verdict::Skipped);
        }
        let Some(text) = command(call).filter(|_| gated) else { return Ok(Verdict::Runs) };
        let (permission, remembered) = self.runs().look(|desk| (desk.permission, desk.remembered.contains(text)));
        match permission {
            Permission::Deny => {
                let output = "Shell commands are turned off on this server (permission: deny).".to_owned();
                return Ok(Verdict::Refused { output, denied: true });
            }
            Permission::Safe | Permission::Full => return Ok(Verdict::Runs),
            Permission::Ask if remembered => return Ok(Verdict::Runs),
            Permission::Ask => {}
        }
        let rule = call.ruled.or(match self.options.mode {
            Mode::Deny => Some(false),
            Mode::Auto => Some(true),
            Mode::Commands => Some(self.options.allows(text)),
            Mode::Ask => None,
        });
        let folder = self.manner.says_work_dir().then(|| work_dir(call));
        self.emit(&Event::ApprovalRequested {
            call_id: id.to_owned(),
            command: text.to_owned(),
            work_dir: folder.clone(),
            approved: rule,
        });
        let approved = match rule {
            Some(approved) => approved,
            None => {
                let shown = PendingOut {
                    kind: "approval",
                    call_id: id.to_owned(),
                    command: Some(text.to_owned()),
                    work_dir: folder,
                    timeout_seconds: Some(COMMAND_SECONDS),
                    remember_supported: self.manner.remember_supported,
                    question: None,
                    options: Vec::new(),
                    allow_multiple: false,
                };
                self.hold(shown, Some(self.options.answer_timeout)).await? == Settled::Approved
            }
        };
        if approved {
            return Ok(Verdict::Runs);
        }
        let output = aborted(text);
        self.words.insert("{answer}", output.clone());
        Ok(Verdict::Refused { output, denied: true })
    }

    /// Publishes a request and waits until it is settled. A run that was stopped meanwhile ends here (§8).
    async fn hold(&mut self, shown: PendingOut, limit: Option<Duration>) -> Result<Settled, Broken> {
        self.with_run(|run| run.pending = Some(Pending { shown: shown.clone(), settled: None }));
        let (session, number) = (self.session.clone(), self.number);
        let settled = self.runs().until(|desk| {
            let run = desk.session(&session)?.run.as_ref().filter(|run| run.number == number)?;
            run.pending.as_ref()?.settled.clone()
        });
        let settled = match limit {
            None => settled.await,
            Some(limit) => tokio::time::timeout(limit, settled).await.unwrap_or(Settled::Expired),
        };
        let stopping = self.with_run(|run| {
            run.pending = None;
            run.stopping
        });
        if settled == Settled::Expired {
            let what = if shown.kind == "approval" { "the command was denied" } else { "the question was declined" };
            let text = format!("No answer within {}s; {what}.", self.options.answer_timeout.as_secs_f64());
            self.emit(&Event::Notice { text, level: Some("warn".into()) });
        }
        if stopping { Err(Broken::Stopped) } else { Ok(settled) }
    }

    /// A question comes before its call starts (§6).
    pub(super) async fn question(&mut self, asked: Question) -> Result<(), Broken> {
        let mut arguments = json!({"question": asked.question, "options": asked.options});
        if let Some(fields) = arguments.as_object_mut().filter(|_| asked.allow_multiple) {
            fields.insert("allow_multiple".into(), true.into());
        }
        let call = Call { name: "ask_user".into(), input: arguments, ..Call::default() };
        let Some(tool) = self.announced(std::slice::from_ref(&call)).pop() else { return Ok(()) };
        self.close_request(vec![tool.clone()]);
        self.emit(&Event::QuestionAsked {
            call_id: tool.call_id.clone(),
            question: asked.question.clone(),
            options: asked.options.clone(),
            allow_multiple: asked.allow_multiple,
            answered: false,
        });
        self.questions.push(asked.question.clone());
        let settled = if self.options.asks_questions {
            let shown = PendingOut {
                kind: "question",
                call_id: tool.call_id.clone(),
                command: None,
                work_dir: None,
                timeout_seconds: None,
                remember_supported: false,
                question: Some(asked.question),
                options: asked.options,
                allow_multiple: asked.allow_multiple,
            };
            let limit = (!self.manner.is_newer()).then_some(self.options.answer_timeout);
            self.hold(shown, limit).await?
        } else {
            Settled::Declined
        };
        let started = Event::ToolStarted {
            call_id: tool.call_id.clone(),
            name: tool.name.clone(),
            arguments: tool.arguments.clone(),
        };
        self.emit(&started);
        let (answer, next) = match settled {
            Settled::Answered(answer) => (Some(answer), asked.answered),
            _ => (None, asked.declined),
        };
        self.words.insert("{answer}", answer.clone().unwrap_or_default());
        let place = self.tools.len();
        self.tools.push(tool.clone());
        let answered = Call { result: response(&tool.call_id, answer.as_deref()), ..call };
        self.end_call(&answered, &tool, &Verdict::Runs, place).await;
        for step in next.into_iter().rev() {
            self.steps.push_front(step);
        }
        self.steer();
        Ok(())
    }

    /// A call the provider runs within the model request: it closes none and waits for nobody.
    pub(super) async fn server_tool(&mut self, call: &Call) {
        let Some(tool) = self.announced(std::slice::from_ref(call)).pop() else { return };
        let Tool { call_id, name, arguments, .. } = tool;
        self.emit(&Event::ServerToolStarted {
            call_id: call_id.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
        });
        self.pause(call.ms).await;
        let (output, ok) = (output_of(call), !call.error);
        self.emit(&Event::ServerToolFinished { call_id, name, arguments, output, ok });
    }
}

/// What the question's tool gives back, in the spacing the real server writes.
fn response(call_id: &str, answer: Option<&str>) -> String {
    let id = Value::from(call_id);
    match answer {
        Some(answer) => {
            let answer = Value::from(answer);
            format!(r#"{{"name": "ask_user_response", "payload": {{"tool_call_id": {id}, "answer": {answer}}}}}"#)
        }
        None => format!(
            r#"{{"name": "ask_user_response", "payload": {{"tool_call_id": {id}, "answer": null, "declined": true, "reason": "the user cancelled the question"}}}}"#
        ),
    }
}
