//! The steps, in their order. What a step waits for is what its picture shows.

use std::{future::Future, time::Instant};

use anyhow::{Result, ensure};
use serde_json::json;
use tests::window::{desk::Desk, page::Page, practice::PracticeServer, steps::open_session};

use crate::{
    album::Album,
    words::{Language, Words},
};

const CODING: &str = "Add pagination to users API";
const GOAL: &str = "Write release notes people read";
const RESEARCH: &str = "Which storage engine for the event log?";
const TOKYO: &str = "东京天气简报";
const BATCH: &str = "Clean up the release branch";
const ORDER: &str = "Where is order ord_123?";

/// The smallest window the app allows.
const SMALLEST: (u32, u32) = (480, 360);

/// One round through the app.
pub struct Tour<'a> {
    /// Where it runs.
    pub desk: &'a Desk,
    /// The window.
    pub page: &'a Page,
    /// What it says.
    pub words: Words,
    /// Its pictures.
    pub album: Album,
}

/// Runs a step; its failure carries its name.
async fn named<T>(
    name: &'static str,
    step: impl Future<Output = Result<T>>,
) -> Result<T, (&'static str, anyhow::Error)> {
    let begin = Instant::now();
    let outcome = step.await.map_err(|error| (name, error))?;
    eprintln!("  {name}: {:.1} s", begin.elapsed().as_secs_f64());
    Ok(outcome)
}

impl Tour<'_> {
    /// Every step.
    ///
    /// # Errors
    /// The step that failed, and why.
    pub async fn go(&mut self, theme: &str, language: Language) -> Result<(), (&'static str, anyhow::Error)> {
        named("theme and language", self.choose_look(theme, language)).await?;
        named("first start", self.first_start()).await?;
        named("wrong address", self.wrong_address()).await?;
        named("scenarios", self.scenarios()).await?;
        named("goal", self.goal()).await?;
        named("Chinese session", self.chinese_session()).await?;
        named("research run", self.research_begins()).await?;
        named("coding run", self.coding_run()).await?;
        named("smallest window", self.smallest_window()).await?;
        named("allowed", self.allowed()).await?;
        named("parallel batch", self.parallel_batch()).await?;
        named("denial", self.denial()).await?;
        named("client tool", self.client_tool()).await?;
        named("research", self.research()).await?;
        named("set a goal", self.set_a_goal()).await?;
        named("history", self.history()).await?;
        named("servers", self.servers()).await?;
        named("settings", self.settings(theme, language)).await
    }

    fn say(&self, key: &str) -> Result<String> {
        self.words.say(key)
    }

    async fn press(&self, key: &str) -> Result<()> {
        self.page.click_on("button", &self.say(key)?).await
    }

    async fn shows(&self, role: &str, key: &str) -> Result<()> {
        self.page.find(role, &self.say(key)?).await.map(drop)
    }

    async fn picture(&mut self, name: &str) -> Result<()> {
        self.page.settle().await?;
        self.album.take(self.page, name).await
    }

    /// Nothing is chosen yet, so the page still speaks English here.
    async fn choose_look(&self, theme: &str, language: Language) -> Result<()> {
        let english = Words::of(Language::English)?;
        self.page.click_on("button", &english.say("nav_settings")?).await?;
        self.page.click_on("radio", &english.say(theme)?).await?;
        self.page.click_on("radio", language.own_name()).await?;
        self.shows("heading", "settings_title").await?;
        self.press("nav_sessions").await
    }

    async fn first_start(&mut self) -> Result<()> {
        self.shows("heading", "hello_title").await?;
        self.shows("button", "practice_start").await?;
        self.shows("textbox", "form_url").await?;
        self.shows("button", "form_connect").await?;
        self.picture("first-start").await
    }

    async fn wrong_address(&mut self) -> Result<()> {
        // A port that was free a moment ago: nothing answers there.
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        self.page.fill(&self.say("form_url")?, &format!("http://127.0.0.1:{port}")).await?;
        self.press("form_connect").await?;
        self.shows("list", "probe_title").await?;
        self.page.until_text(&self.say("probe_connect_no")?).await?;
        self.shows("button", "form_connect").await?;
        self.picture("wrong-address").await
    }

    async fn scenarios(&mut self) -> Result<()> {
        self.press("practice_start").await?;
        self.shows("dialog", "practice_pick").await?;
        for title in [CODING, GOAL, RESEARCH, TOKYO, BATCH, ORDER] {
            self.page.find("button", &self.start_of(title)?).await?;
        }
        self.picture("scenarios").await
    }

    fn start_of(&self, title: &str) -> Result<String> {
        Ok(format!("{} {title}", self.say("practice_run")?))
    }

    /// Starts a scenario from the list that is open.
    async fn play(&self, title: &str) -> Result<()> {
        self.page.click_on("button", &self.start_of(title)?).await?;
        self.page.find("heading", title).await.map(drop)
    }

    /// Opens the list from the sidebar, then starts a scenario.
    async fn play_another(&self, title: &str) -> Result<()> {
        self.press("new_session").await?;
        self.shows("dialog", "ns_title").await?;
        self.play(title).await
    }

    /// The turn is over: there is nothing to stop.
    async fn until_idle(&self) -> Result<()> {
        self.page.until_no_button(&self.say("ses_stop")?).await
    }

    async fn goal(&mut self) -> Result<()> {
        self.play(GOAL).await?;
        self.page.until_text("Long user lists open at once").await?;
        self.page.until_text("The notes are ready.").await?;
        self.shows("heading", "goal_section").await?;
        self.until_idle().await?;
        self.picture("goal").await
    }

    async fn chinese_session(&mut self) -> Result<()> {
        self.play_another(TOKYO).await?;
        self.page.until_text("简报写好了，需要你批准后才能发送。").await?;
        self.shows("button", "ask_allow").await?;
        self.page.find("region", &self.request("ask_tool")?).await?;
        self.page.until_text(&self.words.fill("ask_of", &[("index", "1"), ("count", "2")])?).await?;
        self.picture("chinese-session").await
    }

    fn request(&self, title: &str) -> Result<String> {
        self.words.fill("ask_region", &[("title", &self.say(title)?)])
    }

    async fn research_begins(&self) -> Result<()> {
        self.play_another(RESEARCH).await?;
        self.page.until_text("Compare storage engines").await
    }

    async fn coding_run(&mut self) -> Result<()> {
        self.play_another(CODING).await?;
        self.page.until_text("I'll page by").await?;
        self.shows("button", "ses_stop").await?;
        self.page.until_text(&self.say("state_running")?).await?;
        self.picture("streaming").await?;

        self.page.until_text("Running the test suite now.").await?;
        self.page.find("region", &self.request("ask_command")?).await?;
        self.page.until_text("pytest -q tests/users").await?;
        for button in ["ask_deny", "ask_deny_reason", "ask_allow"] {
            self.shows("button", button).await?;
        }
        self.shows("heading", "group_needs_you").await?;
        self.picture("approval").await
    }

    async fn smallest_window(&mut self) -> Result<()> {
        let before = self.page.size().await?;
        self.page.resize(SMALLEST).await?;
        self.page.until_text("pytest -q tests/users").await?;
        for button in ["ask_deny", "ask_allow"] {
            self.in_sight(&self.say(button)?).await?;
        }
        self.picture("smallest-window").await?;
        self.page.resize(before).await
    }

    /// The whole button lies inside the window.
    async fn in_sight(&self, name: &str) -> Result<()> {
        let look = "const b = [...document.querySelectorAll('button')].find((b) => b.textContent.trim() === arguments[0]); \
                    if (b === undefined) return false; const r = b.getBoundingClientRect(); \
                    return r.width > 0 && r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight";
        ensure!(self.page.run(look, json!(name)).await? == json!(true), "the button {name:?} is not in sight");
        Ok(())
    }

    async fn allowed(&mut self) -> Result<()> {
        self.page.decide(&self.say("ask_allow")?).await?;
        self.page.until_text("All 22 tests pass.").await?;
        self.page.until_text("22 passed").await?;
        self.until_idle().await?;
        self.page.until_no_button(&self.say("ask_allow")?).await?;
        self.picture("allowed").await
    }

    async fn parallel_batch(&mut self) -> Result<()> {
        self.play_another(BATCH).await?;
        self.page.until_text("ruff check .").await?;
        self.page.until_text(&self.words.fill("ask_of", &[("index", "1"), ("count", "3")])?).await?;
        self.shows("button", "ask_next").await?;
        self.picture("parallel-batch").await?;
        self.page.decide(&self.say("ask_allow")?).await?;
        // What waits next stands above the settled card at once.
        self.page.until_text("rm -rf build dist").await?;
        self.picture("first-of-three-allowed").await
    }

    async fn denial(&mut self) -> Result<()> {
        self.page.decide(&self.say("ask_deny_reason")?).await?;
        let reason = self.say("ask_reason")?;
        self.page.fill(&reason, "Keep the build folder, QA still needs it").await?;
        self.page.find("textbox", &reason).await?;
        self.shows("button", "ask_reason_send").await?;
        self.picture("reason").await?;
        self.page.decide(&self.say("ask_reason_send")?).await?;
        self.page.until_text("git tag -s v4.2.0").await?;
        self.page.decide(&self.say("ask_allow")?).await?;
        self.page.until_text("That is everything for the release branch.").await?;
        self.until_idle().await?;
        let denied = self.words.fill("tool_denied_why", &[("reason", "Keep the build folder, QA still needs it")])?;
        self.page.until_text(&denied).await?;
        self.page.until_no_button(&self.say("ask_allow")?).await?;
        self.picture("denied").await
    }

    async fn client_tool(&mut self) -> Result<()> {
        self.play_another(ORDER).await?;
        self.page.find("region", &self.request("ask_client_tool")?).await?;
        let result = self.say("ask_result")?;
        self.page.fill(&result, r#"{"status": "shipped", "carrier": "DHL", "eta": "2026-12-03"}"#).await?;
        self.page.until_text(&self.say("ask_result_json")?).await?;
        self.shows("checkbox", "ask_result_error").await?;
        self.picture("client-tool").await?;
        self.page.decide(&self.say("ask_send_result")?).await?;
        self.page.until_text("Your system says:").await?;
        self.until_idle().await
    }

    async fn research(&mut self) -> Result<()> {
        open_session(self.page, RESEARCH).await?;
        self.page.until_text("one file, the fastest").await?;
        self.until_idle().await?;
        self.picture("research").await
    }

    async fn set_a_goal(&mut self) -> Result<()> {
        open_session(self.page, GOAL).await?;
        self.press("ses_more").await?;
        self.page.click_on("menuitem", &self.say("ses_goal")?).await?;
        self.shows("dialog", "goal_title").await?;
        self.page.fill(&self.say("goal_what")?, "The same notes in Chinese, for customers in Shanghai").await?;
        // The key Enter, as the protocol writes it.
        let rubric = "- Every change is named\u{e006}- No English words left";
        self.page.fill(&self.say("goal_rubric")?, rubric).await?;
        self.shows("button", "goal_do").await?;
        self.picture("set-a-goal").await?;
        self.press("dialog_cancel").await
    }

    async fn history(&mut self) -> Result<()> {
        self.press("nav_history").await?;
        self.shows("heading", "history_title").await?;
        for title in [CODING, GOAL, RESEARCH, TOKYO, BATCH, ORDER] {
            self.page.find("article", title).await?;
        }
        self.picture("history").await?;
        self.page.fill(&self.say("history_search")?, "天气").await?;
        self.page.find("article", TOKYO).await?;
        self.page.until_text(&self.say("history_in_title")?).await?;
        self.until_no("article", CODING).await?;
        self.picture("history-search").await
    }

    async fn until_gone(&self, role: &str, key: &str) -> Result<()> {
        self.until_no(role, &self.say(key)?).await
    }

    async fn until_no(&self, role: &str, name: &str) -> Result<()> {
        let begin = Instant::now();
        while !self.page.look_for(role, name).await?.is_empty() {
            ensure!(begin.elapsed() < tests::window::LIMIT, "the {role} {name:?} stays");
        }
        Ok(())
    }

    async fn servers(&mut self) -> Result<()> {
        let server = PracticeServer::start(self.desk, &["approval", "plain"])?;
        self.press("nav_servers").await?;
        self.shows("heading", "servers_title").await?;
        self.press("server_add").await?;
        self.shows("dialog", "server_add").await?;
        self.page.fill(&self.say("form_url")?, &server.base_url).await?;
        self.page.fill(&self.say("form_token")?, &server.token).await?;
        self.press("form_advanced").await?;
        self.page.fill(&self.say("form_name")?, "Build farm").await?;
        self.picture("add-server").await?;
        self.press("form_connect").await?;
        self.page.until_text(&self.words.fill("added_ready", &[("name", "Build farm")])?).await?;
        self.page.find("article", "Build farm").await?;
        self.page.until_text(&self.say("token_keyring")?).await?;
        self.shows("button", "server_pause").await?;
        self.picture("server-connected").await?;
        self.until_gone("button", "toast_dismiss").await?;
        self.picture("servers").await
    }

    async fn settings(&mut self, theme: &str, language: Language) -> Result<()> {
        self.press("nav_settings").await?;
        self.shows("heading", "settings_title").await?;
        for name in [&*self.say(theme)?, language.own_name()] {
            let choice = self.page.find("radio", name).await?;
            ensure!(self.page.is_chosen(&choice).await?, "{name:?} is not chosen");
        }
        self.page.until_text(&self.say("settings_keyring_ready")?).await?;
        self.picture("settings").await
    }
}
