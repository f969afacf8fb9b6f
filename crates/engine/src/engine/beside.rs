//! What is done to a session beside its transcript, and to its server: copies, titles, questions aside, exports,
//! settings, options of runs.

use std::path::Path;

use contract::{
    command::{AsideAnswer, AskAside, ChangeServerSetting, CompleteMention, ExportedFile, SessionRef, SetRunOptions},
    error::{AppError, ErrorCode},
    session::{Compaction, ContextMeter, Mention, SessionState},
};
use protocols::{Act, Acted, RemoteSession};

use super::{Engine, not_found};
use crate::{
    run_options, saved_page,
    server::{
        facts,
        link::{AskError, ServerLink},
    },
    session::Command,
};

/// Characters of a question asked aside at most.
const MOST_QUESTION: usize = 100_000;

impl Engine {
    /// Sets how a session's next runs are asked for. The run that goes on is not touched.
    ///
    /// # Errors
    /// `InvalidInput` with what to change; `Unsupported` where the server takes no options.
    pub async fn set_run_options(&self, set: SetRunOptions) -> Result<(), AppError> {
        let options = run_options::checked(set.options)?;
        let (_, link) = self.session_link(set.session).await?;
        if !link.protocol.capabilities().run_options {
            return Err(unsupported());
        }
        self.ask_session(set.session, |reply| Command::RunOptions { options, reply }).await
    }

    /// Takes up a run that ended early.
    ///
    /// # Errors
    /// The server's refusal. That nothing is left to take up is none.
    pub async fn resume_run(&self, which: SessionRef) -> Result<(), AppError> {
        self.ask_session(which.session, |reply| Command::Resume { reply }).await
    }

    /// Copies a session. Opening the copy is the window's to do.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn fork_session(&self, which: SessionRef) -> Result<SessionRef, AppError> {
        let Acted::Forked { id } = self.act(which, Act::Fork).await? else { return Err(wrong()) };
        let (record, link) = self.session_link(which.session).await?;
        let known = match link.protocol.read_session(&id) {
            Some(ask) => link.ask(ask).await.ok(),
            None => None,
        };
        let copy = known.unwrap_or_else(|| RemoteSession {
            id,
            title: record.title,
            state: SessionState::Idle,
            agent: record.agent,
            ..RemoteSession::default()
        });
        let session = self.keep_session(&link, &copy).await?;
        link.look.notify_one();
        Ok(SessionRef { session })
    }

    /// Compacts a session's context, and says what that did.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn compact_session(&self, which: SessionRef) -> Result<Compaction, AppError> {
        let before = self.measured(which).await;
        let Acted::Compacted(compaction) = self.act(which, Act::Compact).await? else { return Err(wrong()) };
        self.tell_session(which.session, Command::Look).await?;
        Ok(Compaction { before, after: self.measured(which).await, ..compaction })
    }

    /// How full the context is, beside something else: that it cannot be read stops nothing.
    async fn measured(&self, which: SessionRef) -> Option<ContextMeter> {
        self.session_context(which).await.unwrap_or_else(|error| {
            tracing::info!(session_id = which.session.0, code = ?error.code, "the context could not be read");
            None
        })
    }

    /// Lets the model find a title.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn name_session(&self, which: SessionRef) -> Result<(), AppError> {
        let Acted::Renamed { title } = self.act(which, Act::Name).await? else { return Err(wrong()) };
        self.tell_session(which.session, Command::Facts { title, archived: false, deleted: false }).await
    }

    /// Asks something beside the transcript; the answer is kept nowhere.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn ask_aside(&self, ask: AskAside) -> Result<AsideAnswer, AppError> {
        let question = ask.question.trim().to_owned();
        if question.is_empty() || question.chars().count() > MOST_QUESTION {
            return Err(AppError::new(ErrorCode::InvalidInput, "Write a question of at most 100,000 characters."));
        }
        match self.act(SessionRef { session: ask.session }, Act::AskAside { question }).await? {
            Acted::Answer(answer) => Ok(AsideAnswer { answer }),
            _ => Err(wrong()),
        }
    }

    /// Reads how full the context is; `None` where the server cannot tell.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn session_context(&self, which: SessionRef) -> Result<Option<ContextMeter>, AppError> {
        let Acted::Context(context) = self.act(which, Act::Context).await? else { return Err(wrong()) };
        let Some(context) = context else { return Ok(None) };
        self.ask_session(which.session, |reply| Command::Context { context, reply }).await.map(Some)
    }

    /// Completions of an `@` mention. They are of the server's folder: no session is brought to the front for them.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn complete_mention(&self, complete: CompleteMention) -> Result<Vec<Mention>, AppError> {
        let (record, link) = self.session_link(complete.session).await?;
        let act = Act::Mentions { query: complete.query };
        let ask = link.protocol.act(&record.remote_id, &act).ok_or_else(unsupported)?;
        match link.ask(ask).await? {
            Acted::Mentions(mentions) => Ok(mentions),
            _ => Err(wrong()),
        }
    }

    /// Saves a session, as the server writes it, as a page of its own in this folder, under a name that is free.
    ///
    /// # Errors
    /// The server's refusal, or a folder that cannot be written.
    pub async fn export_session(&self, which: SessionRef, folder: &Path) -> Result<ExportedFile, AppError> {
        let Acted::Page(page) = self.act(which, Act::ExportPage).await? else { return Err(wrong()) };
        let (record, _) = self.session_link(which.session).await?;
        let (folder, title) = (folder.to_owned(), record.title.unwrap_or_default());
        let written = tokio::task::spawn_blocking(move || saved_page::save(&folder, &title, &page)).await;
        written.map_err(|error| {
            AppError::new(ErrorCode::Internal, "The page was not saved.").with_detail(error.to_string())
        })?
    }

    /// Changes one of a server's own settings, and reads what it says of itself then.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn change_server_setting(&self, change: ChangeServerSetting) -> Result<(), AppError> {
        let link = self.link_now(&change.server)?;
        let ask = link.protocol.change_setting(&change.setting).ok_or_else(unsupported)?;
        link.ask(ask).await?;
        self.read_facts(&link).await?;
        Ok(())
    }

    /// Reads what a server says of itself. The headers of its sessions show some of it.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) async fn read_facts(&self, link: &ServerLink) -> Result<(), AskError> {
        let window = || self.hub().server(&link.id).and_then(|server| facts::window(&server.facts));
        let before = window();
        let read = facts::read(link, self.hub()).await;
        if before != window() {
            for row in self.hub().rows_of(&link.id) {
                if let Some(task) = self.running_session(row.id).await {
                    // A task whose mailbox is full has news of its own to show, and the window with them.
                    task.nudge(Command::ServerFacts);
                }
            }
        }
        read
    }

    async fn session_link(
        &self,
        session: contract::session::SessionId,
    ) -> Result<(store::SessionRecord, std::sync::Arc<ServerLink>), AppError> {
        let record = self.hub().store.session(session).await?.ok_or_else(|| not_found("session"))?.record;
        let link = self.link_now(&record.server)?;
        Ok((record, link))
    }

    async fn act(&self, which: SessionRef, act: Act) -> Result<Acted, AppError> {
        let (record, link) = self.session_link(which.session).await?;
        let ask = link.protocol.act(&record.remote_id, &act).ok_or_else(unsupported)?;
        Ok(link.slow_at(&record.remote_id, &ask).await?)
    }
}

fn unsupported() -> AppError {
    AppError::new(ErrorCode::Unsupported, "This server cannot do that.")
}

fn wrong() -> AppError {
    AppError::new(ErrorCode::WrongProtocol, "The server answered with something else than was asked for.")
}
