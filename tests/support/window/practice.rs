//! The practice server as a process of its own, so that the app can be killed without it, and steered over HTTP.

use std::process::{ChildStdin, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{LIMIT, desk::Desk, practice_program, process::Process};

/// A practice server.
pub struct PracticeServer {
    process: Process,
    // The server ends when its input is closed, so that it never outlives a test.
    _input: Option<ChildStdin>,
    client: reqwest::Client,
    control_url: String,
    /// Its address, as a person would enter it.
    pub base_url: String,
    /// The address of its `runs` side.
    pub runs_base_url: String,
    /// The address of its `turns` side.
    pub turns_base_url: String,
    /// Its token.
    pub token: String,
    /// The sessions it began with, by the server's ids.
    pub sessions: Vec<String>,
    /// Those of its `turns` side.
    pub turns_sessions: Vec<String>,
}

impl PracticeServer {
    /// Starts one that plays these scenarios, each in a session, without pauses.
    ///
    /// # Errors
    /// Where it does not listen in time.
    pub fn start(desk: &Desk, scenarios: &[&str]) -> Result<Self> {
        Self::start_with(desk, scenarios, &[])
    }

    /// The same, with more words for the program.
    ///
    /// # Errors
    /// The same.
    pub fn start_with(desk: &Desk, scenarios: &[&str], words: &[&str]) -> Result<Self> {
        let mut command = Command::new(practice_program());
        command.args(words);
        command.args(["--pace", "fast", "--heartbeat-ms", "1000"]).stdin(Stdio::piped());
        for scenario in scenarios {
            command.args(["--scenario", scenario]);
        }
        let (mut process, line) = Process::start_and_read_line(&mut command, "practice", &desk.logs())?;
        let line: Value = serde_json::from_str(&line)?;
        let word = |name: &str| Ok::<_, anyhow::Error>(line[name].as_str().context("no address")?.to_owned());
        Ok(Self {
            _input: process.input(),
            process,
            client: reqwest::Client::builder().no_proxy().timeout(LIMIT).build()?,
            control_url: word("control_url")?,
            base_url: word("base_url")?,
            runs_base_url: word("runs_base_url")?,
            turns_base_url: word("turns_base_url")?,
            token: word("token")?,
            sessions: serde_json::from_value(line["sessions"].clone())?,
            turns_sessions: serde_json::from_value(line["turns_sessions"].clone())?,
        })
    }

    /// One control command. Answers what the server says.
    ///
    /// # Errors
    /// Where it refuses.
    pub async fn control(&self, command: Value) -> Result<Value> {
        let request = self.client.post(&self.control_url).bearer_auth(&self.token).json(&command);
        let answer = request.send().await?;
        let status = answer.status();
        let body: Value = answer.json().await?;
        if !status.is_success() {
            bail!("{command}: {status}: {body}");
        }
        Ok(body)
    }

    /// Waits at the server until something holds, and gives its counters.
    ///
    /// # Errors
    /// Where it does not in time.
    pub async fn wait(&self, mut what: Value) -> Result<Value> {
        what["do"] = json!("wait");
        what["timeout_ms"] = json!(LIMIT.as_millis() as u64);
        self.control(what).await
    }

    /// The decisions that arrived, accepted and not repeated.
    ///
    /// # Errors
    /// Where the server is gone.
    pub async fn decisions(&self) -> Result<Vec<Value>> {
        let counters = self.control(json!({ "do": "counters" })).await?;
        let all = counters["decisions"].as_array().cloned().unwrap_or_default();
        Ok(all.into_iter().filter(|seen| seen["status"].as_u64().is_some_and(|status| status < 300)).collect())
    }

    /// Allows what a session waits for, as another client of the same server would.
    ///
    /// # Errors
    /// Where nothing waits, or the server refuses.
    pub async fn answer_elsewhere(&self, session: &str) -> Result<()> {
        let state = self.control(json!({ "do": "session", "session": session })).await?;
        let waiting = state["waiting"].as_array().and_then(|all| all.first()).context("nothing waits")?;
        let event = json!({ "type": "user.tool_confirmation", "tool_use_id": waiting, "result": "allow" });
        let request = self.client.post(format!("{}/sessions/{session}/events", self.base_url));
        let answer = request.bearer_auth(&self.token).json(&json!({ "events": [event] })).send().await?;
        answer.error_for_status()?;
        Ok(())
    }

    /// Makes a session of its `runs` side, as another client would.
    ///
    /// # Errors
    /// Where the server refuses.
    pub async fn make_run_session(&self, title: &str) -> Result<()> {
        let request = self.client.post(format!("{}/sessions", self.runs_base_url)).bearer_auth(&self.token);
        request.json(&json!({ "title": title })).send().await?.error_for_status()?;
        Ok(())
    }

    /// Takes only this token from now on.
    ///
    /// # Errors
    /// Where the server refuses.
    pub async fn rotate_token(&mut self, token: &str) -> Result<()> {
        self.control(json!({ "do": "rotate_token", "token": token })).await?;
        token.clone_into(&mut self.token);
        Ok(())
    }

    /// The process's id.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.process.id()
    }

    /// Ends it, as a crash would.
    pub fn kill(&mut self) {
        self.process.end();
    }
}
