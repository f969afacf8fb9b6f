//! The sessions' tasks: made when they are needed, ended when they are not.

use std::{collections::hash_map::Entry, sync::Arc};

use contract::{
    error::{AppError, ErrorCode},
    session::{ClosedReason, SessionId},
};
use tokio::sync::oneshot;

use super::{Engine, not_found};
use crate::session::{Command, Reply, SessionHandle, SessionTask, Start};

impl Engine {
    /// The task of a session, when there is one.
    pub(crate) async fn running_session(&self, id: SessionId) -> Option<SessionHandle> {
        self.inner.tasks.lock().await.get(&id).filter(|task| !task.is_closed()).cloned()
    }

    pub(super) async fn all_tasks(&self) -> Vec<SessionHandle> {
        self.inner.tasks.lock().await.values().cloned().collect()
    }

    /// The task of a session, made when there is none.
    ///
    /// # Errors
    /// `NotFound` when there is no such session.
    async fn session_task(&self, id: SessionId) -> Result<SessionHandle, AppError> {
        let mut tasks = self.inner.tasks.lock().await;
        if let Entry::Occupied(entry) = tasks.entry(id) {
            if !entry.get().is_closed() {
                return Ok(entry.get().clone());
            }
            entry.remove();
        }
        let hub = Arc::clone(self.hub());
        let mut record = hub.store.session(id).await?.ok_or_else(|| not_found("session"))?.record;
        let server = hub.server(&record.server);
        let link = self.link(&record.server);
        let protocol = match &link {
            Some(link) => Arc::clone(&link.protocol),
            None => self.offline_protocol(&record.server).await?,
        };
        let server_name = match server {
            Some(server) => server.name,
            None => {
                record.ended.get_or_insert(ClosedReason::ServerRemoved);
                self.removed_name(&record.server).await?
            }
        };
        self.locked(&self.inner.pending).remove(&id);
        let task = SessionTask::spawn(Start {
            id,
            record,
            server_name,
            hub,
            link,
            codec: Box::new(move || protocol.codec()),
            cancel: self.inner.cancel.child_token(),
        });
        tasks.insert(id, task.clone());
        Ok(task)
    }

    /// Tells a session's task something, whichever task that is by then.
    ///
    /// # Errors
    /// `NotFound` when there is no such session.
    pub(crate) async fn tell_session(&self, id: SessionId, command: Command) -> Result<(), AppError> {
        let mut command = Box::new(command);
        // Between finding a task and telling it, it may end once.
        for _ in 0..3 {
            match self.session_task(id).await?.tell(*command).await {
                Ok(()) => return Ok(()),
                Err(back) => command = back,
            }
        }
        Err(task_ended())
    }

    /// Asks a session's task something.
    ///
    /// # Errors
    /// The task's own error.
    pub(super) async fn ask_session<T>(
        &self,
        id: SessionId,
        command: impl FnOnce(Reply<T>) -> Command,
    ) -> Result<T, AppError> {
        let (reply, answer) = oneshot::channel();
        self.tell_session(id, command(reply)).await?;
        answer.await.map_err(|_| task_ended())?
    }

    /// Ends tasks that nobody and nothing needs.
    pub(super) async fn retire_unused(&self) {
        let mut tasks = self.inner.tasks.lock().await;
        tasks.retain(|_, task| !task.is_closed());
        for task in tasks.values() {
            // A task whose mailbox is full is not unused.
            task.nudge(Command::Retire);
        }
    }
}

fn task_ended() -> AppError {
    AppError::retryable(ErrorCode::Internal, "The session's task has ended. Open the session again.")
}
