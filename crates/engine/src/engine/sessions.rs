//! Sessions: made, opened, written to, stopped, renamed, archived.

use contract::{
    command::{
        CreateEnvironment, CreateSession, DefineOutcome, LINKED_IMAGE, QueuedAction, QueuedMessageAction, ReadItems,
        ReadPayload, RenameSession, SendMessage, SentImage, ServerRef, SessionRef,
    },
    error::{AppError, ErrorCode},
    patch::{ItemPage, PayloadChunk, Snapshot},
    session::{NewSessionOptions, SessionId},
};
use protocols::{Ask, NewSession, Outgoing, Protocol, SetupChange};

use super::{Engine, not_found, setup};
use crate::{ids, session::Command};

/// Items of one page at most.
const MOST_ITEMS: u32 = 500;

/// Characters of one part of a payload at most.
const MOST_CHARS: u64 = 262_144;

/// Characters of a title at most.
const MOST_TITLE: usize = 500;

impl Engine {
    /// What the new-session form offers for a server.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn new_session_options(&self, which: ServerRef) -> Result<NewSessionOptions, AppError> {
        let link = self.link_now(&which.server)?;
        let mut options = NewSessionOptions::default();
        for ask in link.protocol.new_session_options() {
            let part = link.ask(ask).await?;
            options.agents.extend(part.agents);
            options.environments.extend(part.environments);
        }
        self.mark_kept(&which.server, &mut options).await;
        Ok(options)
    }

    /// Creates an environment and gives the options again.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn create_environment(&self, create: CreateEnvironment) -> Result<NewSessionOptions, AppError> {
        let name = create.name.trim();
        if name.is_empty() {
            return Err(AppError::new(ErrorCode::InvalidInput, "Give the environment a name."));
        }
        let link = self.link_now(&create.server)?;
        link.ask(link.protocol.create_environment(name).ok_or_else(unsupported)?).await?;
        self.new_session_options(ServerRef { server: create.server }).await
    }

    /// Creates a session; a first message is sent as soon as its stream is open.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn create_session(&self, create: CreateSession) -> Result<SessionRef, AppError> {
        let link = self.link_now(&create.server)?;
        if let (Some(agent), Some(setup)) = (&create.agent, &create.start.setup) {
            setup::check(&link, agent, setup)?;
        }
        let start = self.with_secrets(&create.server, create.agent.as_deref(), create.start).await?;
        let new = NewSession {
            agent: create.agent,
            environment: create.environment,
            title: create.title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty()),
            setup: start.setup.map(|setup| SetupChange { setup, secrets: start.secrets }),
            system: start.system.filter(|system| !system.trim().is_empty()),
            imported: start.imported,
        };
        let ask = link.protocol.create_session(&new, &ids::random()).ok_or_else(unsupported)?;
        let mut remote = link.ask_alone(ask).await?;
        if link.protocol.capabilities().titles_here {
            remote.title = new.title;
            remote.created_at.get_or_insert_with(|| self.hub().now());
        }
        let session = self.keep_session(&link, &remote).await?;
        if !create.message.trim().is_empty() {
            self.send_message(SendMessage { session, text: create.message, images: Vec::new() }).await?;
        }
        Ok(SessionRef { session })
    }

    /// Opens a session in a window: patches for it follow the snapshot.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn open_session(&self, window: &str, which: SessionRef) -> Result<Snapshot, AppError> {
        let (window, feed) = (window.to_owned(), self.hub().feed(window));
        self.ask_session(which.session, |reply| Command::Open { window, feed, reply }).await.map(|snapshot| *snapshot)
    }

    /// A window no longer shows a session.
    ///
    /// # Errors
    /// None today.
    pub async fn close_session(&self, window: &str, which: SessionRef) -> Result<(), AppError> {
        if let Some(task) = self.running_session(which.session).await {
            // The task has ended when it cannot be told.
            let _ = task.tell(Command::Close { window: window.to_owned() }).await;
        }
        Ok(())
    }

    /// Older items.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn read_items(&self, read: ReadItems) -> Result<ItemPage, AppError> {
        let limit = read.limit.clamp(1, MOST_ITEMS) as usize;
        self.ask_session(read.session, |reply| Command::Items { before: read.before, limit, reply }).await
    }

    /// A part of a long text.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn read_payload(&self, read: ReadPayload) -> Result<PayloadChunk, AppError> {
        let limit = read.limit.clamp(1, MOST_CHARS);
        self.ask_session(read.session, |reply| Command::Payload { handle: read.handle, from: read.from, limit, reply })
            .await
    }

    /// Sends a message, or queues it as the server's way is.
    ///
    /// # Errors
    /// When nothing can be sent to the session.
    pub async fn send_message(&self, send: SendMessage) -> Result<(), AppError> {
        if !send.images.is_empty() {
            let record = self.hub().store.session(send.session).await?.ok_or_else(|| not_found("session"))?.record;
            let capabilities = self.link_now(&record.server)?.protocol.capabilities();
            crate::images::check(&send.images, capabilities.image_links)?;
            let is_data = |image: &SentImage| image.media_type != LINKED_IMAGE;
            if !capabilities.images && send.images.iter().any(is_data) {
                return Err(AppError::new(ErrorCode::Unsupported, "This server takes no images. Send the text alone."));
            }
        }
        let SendMessage { session, text, images } = send;
        self.ask_session(session, |reply| Command::Message { text, images, reply }).await
    }

    /// Forgets or releases a queued message.
    ///
    /// # Errors
    /// `NotFound` when it is no longer queued.
    pub async fn queued_message(&self, act: QueuedMessageAction) -> Result<(), AppError> {
        let release = match act.action {
            QueuedAction::Drop => false,
            QueuedAction::Release => true,
            QueuedAction::DeclineAndSend => {
                return self.ask_session(act.session, |reply| Command::DeclineAndSend { act, reply }).await;
            }
        };
        self.ask_session(act.session, |reply| Command::Queued { id: act.id, release, reply }).await
    }

    /// Asks the server to stop the turn.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn stop_session(&self, which: SessionRef) -> Result<(), AppError> {
        self.ask_session(which.session, |reply| Command::Stop { reply }).await
    }

    /// Tries the connection again now.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn retry_now(&self, which: SessionRef) -> Result<(), AppError> {
        self.tell_session(which.session, Command::RetryNow).await?;
        self.nudge_all();
        Ok(())
    }

    /// Sets a goal.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn define_outcome(&self, define: DefineOutcome) -> Result<(), AppError> {
        if define.description.trim().is_empty() || define.rubric.trim().is_empty() {
            return Err(AppError::new(ErrorCode::InvalidInput, "A goal needs a description and a rubric."));
        }
        if define.max_iterations.is_some_and(|most| !(1..=20).contains(&most)) {
            return Err(AppError::new(ErrorCode::InvalidInput, "A goal can be tried 1 to 20 times."));
        }
        let outgoing = Outgoing::Outcome {
            description: define.description,
            rubric: define.rubric,
            max_iterations: define.max_iterations,
        };
        self.ask_session(define.session, |reply| Command::Outcome { outgoing, reply }).await
    }

    /// Asks a session's server for something that has no answer worth keeping.
    async fn at_server(
        &self,
        session: SessionId,
        ask: impl FnOnce(&dyn Protocol, &str) -> Option<Ask<()>>,
    ) -> Result<(), AppError> {
        let record = self.hub().store.session(session).await?.ok_or_else(|| not_found("session"))?.record;
        let link = self.link_now(&record.server)?;
        let ask = ask(link.protocol.as_ref(), &record.remote_id).ok_or_else(unsupported)?;
        link.ask_at(&record.remote_id, ask).await?;
        Ok(())
    }

    /// Renames a session.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn rename_session(&self, rename: RenameSession) -> Result<(), AppError> {
        let title: String = rename.title.trim().chars().take(MOST_TITLE).collect();
        if title.is_empty() {
            return Err(AppError::new(ErrorCode::InvalidInput, "Give the session a title."));
        }
        if !self.titles_here(rename.session).await? {
            self.at_server(rename.session, |protocol, remote| protocol.rename_session(remote, &title)).await?;
        }
        self.tell_session(rename.session, Command::Facts { title: Some(title), archived: false, deleted: false }).await
    }

    /// Archives a session at the server.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn archive_session(&self, which: SessionRef) -> Result<(), AppError> {
        self.at_server(which.session, |protocol, remote| protocol.archive_session(remote)).await?;
        self.tell_session(which.session, Command::Facts { title: None, archived: true, deleted: false }).await?;
        self.hub().remove_row(which.session);
        Ok(())
    }

    /// Deletes a session at the server; its history here stays.
    ///
    /// # Errors
    /// The server's refusal.
    pub async fn delete_session(&self, which: SessionRef) -> Result<(), AppError> {
        self.at_server(which.session, |protocol, remote| protocol.delete_session(remote)).await?;
        self.tell_session(which.session, Command::Facts { title: None, archived: false, deleted: true }).await?;
        self.hub().remove_row(which.session);
        Ok(())
    }
}

fn unsupported() -> AppError {
    AppError::new(ErrorCode::Unsupported, "This server cannot do that.")
}
