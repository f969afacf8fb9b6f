//! A WebDriver client: as much of the W3C protocol as the tests need. It is JSON over HTTP.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{LIMIT, desk::Desk, page::Page, process::Process};

/// A WebKitWebDriver of one test's own.
pub struct Driver {
    id: i32,
    base: String,
    client: reqwest::Client,
}

impl Driver {
    /// Starts one on a free port of this computer.
    ///
    /// # Errors
    /// Where it does not answer in time.
    pub async fn start(desk: &Desk) -> Result<Self> {
        let port = free_port()?;
        let process = Process::start(
            desk.command("WebKitWebDriver")
                .arg(format!("--port={port}"))
                // Without it the app lets no driver in, and a session would wait for ever.
                .env("TAURI_WEBVIEW_AUTOMATION", "true")
                // With it a picture of the page is never answered.
                .env_remove("WEBKIT_DISABLE_DMABUF_RENDERER"),
            &format!("driver-{port}"),
            &desk.logs(),
        )?;
        let client = reqwest::Client::builder().no_proxy().timeout(LIMIT * 2).build()?;
        let id = process.id();
        desk.keep(process);
        let driver = Self { id, base: format!("http://127.0.0.1:{port}"), client };
        let begin = Instant::now();
        while driver.call(reqwest::Method::GET, "/status", None).await.is_err() {
            if begin.elapsed() > LIMIT {
                bail!("the driver does not answer");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(driver)
    }

    /// Starts the app in a session.
    ///
    /// # Errors
    /// Where it does not start.
    pub async fn open(self, app: &Path) -> Result<Page> {
        let wish = json!({ "capabilities": { "alwaysMatch": {
            "webkitgtk:browserOptions": { "binary": app, "args": [] },
            "timeouts": { "script": 90_000, "pageLoad": 90_000, "implicit": 0 },
        } } });
        let session = self.call(reqwest::Method::POST, "/session", Some(wish)).await?;
        let id = session["sessionId"].as_str().context("no session")?.to_owned();
        Ok(Page::new(Arc::new(self), id))
    }

    /// The driver's process; the app is its child.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.id
    }

    /// One call. Answers its `value`.
    ///
    /// # Errors
    /// The driver's own words.
    pub async fn call(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> Result<Value> {
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.base));
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.with_context(|| format!("{method} {path}"))?;
        let status = answer.status();
        let mut body: Value = answer.json().await?;
        let value = body["value"].take();
        if status.is_success() { Ok(value) } else { bail!("{method} {path}: {}: {}", value["error"], value["message"]) }
    }
}

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
