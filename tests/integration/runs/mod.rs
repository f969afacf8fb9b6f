//! Turns that are the answer to what begins them, against the practice server's `runs` side: what the engine does of
//! its own around the wire (queue, stop, looks beside the stream, recovery).

mod answers;
mod lost;
mod recovery;
mod sessions;
mod stopping;

use anyhow::{Context as _, Result};
use contract::{
    command::{SendMessage, SessionRef, SetRunOptions},
    connection::ConnectionState,
    item::{ItemBody, Marker},
    request::Request,
    session::{RunOptions, SessionState, StopReason},
};
use practice::RunsManner;
use tests::{
    rig::Rig,
    view::{View, line},
};

/// A practice server's `runs` side, and its current session in a window.
pub struct Stage {
    /// Both sides.
    pub rig: Rig,
    /// The session's id at the server.
    pub remote: String,
    /// The window.
    pub view: View,
}

impl Stage {
    /// Starts both, with the session that is current.
    pub async fn start(manner: RunsManner) -> Result<Self> {
        let rig = Rig::start_runs(manner).await?;
        let remote = rig.control.runs().current();
        let view = rig.open(&remote).await?;
        Ok(Self { rig, remote, view })
    }

    /// Starts both, with a new session that plays a scenario.
    pub async fn playing(scenario: &str) -> Result<Self> {
        let rig = Rig::start_runs(RunsManner::default()).await?;
        let remote = rig.control.runs().start_scenario(scenario)?;
        let view = rig.open(&remote).await?;
        Ok(Self { rig, remote, view })
    }

    /// The session as commands name it.
    pub fn which(&self) -> SessionRef {
        SessionRef { session: self.view.session() }
    }

    /// Sends a message.
    pub async fn say(&self, text: &str) -> Result<()> {
        say(&self.rig, &self.view, text).await
    }

    /// Sends a message and waits for its turn to end.
    pub async fn run(&mut self, text: &str) -> Result<()> {
        let turn = |view: &View| view.header.turn.as_ref().map(|turn| turn.id.clone());
        let before = turn(&self.view);
        self.say(text).await?;
        self.view.until("the turn's end", |view| turn(view) != before && is_over(view)).await
    }

    /// Sets how the next runs are asked for.
    pub async fn options(&self, options: RunOptions) -> Result<()> {
        Ok(self.rig.engine.set_run_options(SetRunOptions { session: self.view.session(), options }).await?)
    }

    /// The card that waits.
    pub async fn card(&mut self) -> Result<Request> {
        card(&mut self.view).await
    }

    /// How often something was posted to this path of the `runs` side.
    pub fn posted(&self, path: &str) -> usize {
        posted(&self.rig, path)
    }
}

pub async fn say(rig: &Rig, view: &View, text: &str) -> Result<()> {
    let send = SendMessage { session: view.session(), text: text.to_owned(), images: Vec::new() };
    Ok(rig.engine.send_message(send).await?)
}

pub fn posted(rig: &Rig, path: &str) -> usize {
    rig.control.counters().posts.iter().filter(|post| post.path.ends_with(path)).count()
}

pub async fn card(view: &mut View) -> Result<Request> {
    view.until("a card", |view| view.open_requests().len() == 1).await?;
    view.open_requests().first().map(|request| (*request).clone()).context("no card")
}

/// How many messages of the person are in the transcript, each all there.
pub fn turns(view: &View) -> usize {
    view.text().lines().filter(|line| line.starts_with("User Done")).count()
}

pub fn is_over(view: &View) -> bool {
    view.header.row.state == SessionState::Idle && view.header.connection == ConnectionState::Closed
}

pub fn runs(view: &View) -> bool {
    matches!(view.header.row.state, SessionState::Running | SessionState::Waiting)
        && matches!(view.header.connection, ConnectionState::Live { .. })
}

pub fn says(view: &View, words: &str) -> bool {
    view.text().contains(words)
}

pub fn stop_of(view: &View) -> Option<StopReason> {
    view.header.turn.as_ref().and_then(|turn| turn.stop.clone())
}

/// The transcript without what only a live stream tells (ends of turns, notices, thoughts).
pub fn spoken(view: &View) -> String {
    let kept = |body: &ItemBody| {
        matches!(body, ItemBody::Message(_) | ItemBody::Tool(_))
            || matches!(body, ItemBody::Marker(Marker::Compacted { .. }))
    };
    view.ordered().into_iter().filter(|item| kept(&item.body)).map(line).collect::<Vec<_>>().join("\n")
}
