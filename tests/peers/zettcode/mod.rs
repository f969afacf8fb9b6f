//! A real server of the `runs` protocol, which really runs the commands it was allowed to.

mod around;
mod bytes;
mod joined;
mod past;
mod runs;
mod ways_back;
mod wire;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result};
use serde_json::Value;
use tempfile::TempDir;
use tests::window::process::Process;

use crate::{peers, script};

/// The token it takes.
pub const TOKEN: &str = "peer-token";

/// What it does with commands when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Asks about them, where the run asks for that.
    Ask,
    /// Refuses them: what it does when nothing is said.
    Deny,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A program of ours that prints its port and ends with its input.
struct Running {
    // Ends the group; the pipe below ends it too, also when this process dies.
    process: Process,
    _input: Option<std::process::ChildStdin>,
    port: u16,
}

impl Running {
    fn start(command: &mut Command, name: &str, logs: &Path) -> Result<Self> {
        let (mut process, line) = Process::start_and_read_line(command.stdin(Stdio::piped()), name, logs)?;
        let input = process.input();
        let port = line.trim().parse().with_context(|| format!("{name} printed {line:?}"))?;
        Ok(Self { process, _input: input, port })
    }
}

/// The peer and the model behind it, running. Fields are dropped in order.
pub struct Peer {
    server: Option<Running>,
    model: Running,
    port: u16,
    level: Level,
    http: reqwest::Client,
    folder: TempDir,
}

impl Peer {
    /// Both, ready.
    pub fn start(level: Level) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for name in ["home/.zettcode", "workspace", "logs"] {
            std::fs::create_dir_all(folder.path().join(name))?;
        }
        let python = peers().join("zettcode/bin/python");
        let mut command = Command::new(&python);
        command.arg(script("fake_llm.py"));
        let model = Running::start(&mut command, "model", &folder.path().join("logs"))
            .context("the peer does not start: `cargo xtask test peers` installs it")?;
        std::fs::write(
            folder.path().join("home/.zettcode/config.toml"),
            format!(
                "[[models]]\nmodel = \"fake-1\"\ndisplay_model = \"Fake\"\ntoken = \"none\"\nmultimodal = true\n\
                 context_window = 100000\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
                 [update]\nenabled = false\n[plugins]\nenabled = false\n[mcp]\nenabled = false\n",
                model.port
            ),
        )?;
        let http = reqwest::Client::builder().no_proxy().build()?;
        let mut peer = Self { server: None, model, port: 0, level, http, folder };
        peer.start_server()?;
        Ok(peer)
    }

    fn start_server(&mut self) -> Result<()> {
        let mut command = Command::new(peers().join("zettcode/bin/python"));
        command
            .arg(script("serve_zettcode.py"))
            .arg(self.port.to_string())
            .arg("--workspace")
            .arg(self.workspace())
            .args(["--permission", self.level.word(), "--token", TOKEN, "--log-level", "warning"])
            .env("HOME", self.folder.path().join("home"))
            .env("ZETTCODE_BROKER_DIR", self.broker())
            // Seconds until the broker ends by itself where this process cannot end it any more.
            .env("ZETTCODE_BROKER_IDLE", "2")
            .current_dir(self.folder.path());
        let server = Running::start(&mut command, "server", &self.folder.path().join("logs"))?;
        self.port = server.port;
        self.server = Some(server);
        Ok(())
    }

    fn broker(&self) -> PathBuf {
        self.folder.path().join("home/.zettcode/broker")
    }

    /// Ends the server as `kill -9` does, in the middle of whatever it does.
    pub fn kill(&mut self) {
        self.server = None;
    }

    /// Starts it again, at the same address.
    pub fn start_again(&mut self) -> Result<()> {
        self.kill();
        self.start_server()
    }

    /// Its address, as a person enters it.
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The folder its commands run in.
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// A file that a command may leave.
    pub fn left(&self, name: &str) -> bool {
        self.workspace().join(name).exists()
    }

    /// A request with its token.
    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base())).bearer_auth(TOKEN)
    }

    /// What an endpoint says.
    pub async fn get(&self, path: &str) -> Result<Value> {
        Ok(self.request(reqwest::Method::GET, path).send().await?.error_for_status()?.json().await?)
    }

    /// What an endpoint answers to a body.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        Ok(self.request(reqwest::Method::POST, path).json(body).send().await?.error_for_status()?.json().await?)
    }

    /// Lets the model go on where it holds, or at its next hold.
    pub async fn let_go(&self) -> Result<()> {
        let address = format!("http://127.0.0.1:{}/go", self.model.port);
        self.http.post(address).send().await?.error_for_status()?;
        Ok(())
    }

    /// What the model was asked so far: `user`, `tools`, `images`.
    pub async fn seen(&self) -> Result<Vec<Value>> {
        let address = format!("http://127.0.0.1:{}/seen", self.model.port);
        Ok(self.http.get(address).send().await?.error_for_status()?.json().await?)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.server = None;
        // The broker has a session of its own, so that it did not end with the server's group.
        if let Some(id) = broker_of(&self.broker()) {
            let _ended_already = tests::window::process::kill_now(id);
        }
    }
}

/// The broker's process, where one runs that belongs to this folder.
fn broker_of(folder: &Path) -> Option<i32> {
    let note: Value = serde_json::from_slice(&std::fs::read(folder.join("broker.json")).ok()?).ok()?;
    let id = i32::try_from(note.get("pid")?.as_i64()?).ok()?;
    let ours = tests::window::process::variable_of(id, "ZETTCODE_BROKER_DIR")?;
    (Path::new(&ours) == folder).then_some(id)
}

#[tokio::test(flavor = "multi_thread")]
async fn zettcode_leaves_no_process_behind() -> Result<()> {
    let peer = Peer::start(Level::Ask)?;
    let broker = peer.broker();
    let server = peer.server.as_ref().context("no server")?.process.id();
    let model = peer.model.process.id();
    let helper = tests::window::process::wait_for_file(&broker.join("broker.json")).map(|_| broker_of(&broker))?;
    let helper = helper.context("the broker is not ours")?;
    drop(peer);
    for id in [server, model, helper] {
        tests::window::process::wait_gone(id)?;
    }
    Ok(())
}
