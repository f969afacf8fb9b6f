//! Asking a server that has one current session at a time: whatever is meant for a session is asked while that one is
//! current, and nobody else moves the server meanwhile.
//!
//! Everything that names no session of its own goes through here. Where a server has no current session, all of this
//! is nothing but the request itself.

use std::{pin::pin, sync::Arc, time::Duration};

use contract::{
    error::{AppError, ErrorCode},
    session::SessionState,
};
use protocols::Ask;
use tokio::{sync::OwnedMutexGuard, time::sleep};

use super::link::{AskError, ServerLink};

/// How long something slow (a model that answers) keeps the floor: the server has read the request by then, and a
/// decision on another session must not wait for a model.
const SLOW_KEEPS: Duration = Duration::from_secs(2);

/// Whether the server may be moved to the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    /// It is made current where it is not.
    There,
    /// Only what is current already is asked: nobody here looks at the session.
    OnlyIfThere,
}

/// The right to ask the current session. Given back with [`Floor::leave`].
#[must_use]
pub struct Floor {
    link: Arc<ServerLink>,
    back: Option<String>,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Floor {
    /// Gives the floor back. Where a run of another session went on there before, that one is current again.
    pub async fn leave(self) {
        let Self { link, back, guard } = self;
        if let Some(ask) = back.as_deref().and_then(|back| link.protocol.approach(back))
            && let Err(failed) = link.once(&ask).await
        {
            tracing::info!(code = ?failed.error.code, "the server did not go back to the session it was at");
        }
        drop(guard);
    }
}

impl ServerLink {
    /// Makes a session current and keeps it so. `None` where it is not current and must not be made so.
    ///
    /// # Errors
    /// The server's refusal to go there; nothing that was meant for the session was sent then.
    pub async fn stand(self: &Arc<Self>, session: &str, going: Going) -> Result<Option<Floor>, AskError> {
        let Some(approach) = self.protocol.approach(session) else {
            return Ok(Some(Floor { link: Arc::clone(self), back: None, guard: None }));
        };
        let guard = Arc::clone(&self.floor).lock_owned().await;
        let before = match self.protocol.current() {
            Some(ask) => self.once(&ask).await.map_err(not_sent)?,
            None => None,
        };
        if before.as_deref() != Some(session) {
            if going == Going::OnlyIfThere {
                return Ok(None);
            }
            let at = self.once(&approach).await.map_err(not_sent)?;
            if at != session {
                let error = AppError::new(ErrorCode::WrongProtocol, "The server went to another session than asked.");
                return Err(AskError { error, uncertain: false, layer: None });
            }
        }
        let back = before.filter(|before| before != session && self.runs(before));
        Ok(Some(Floor { link: Arc::clone(self), back, guard: Some(guard) }))
    }

    /// As [`ServerLink::ask`], of a session.
    ///
    /// # Errors
    /// The same, and the server's refusal to go there.
    pub async fn ask_at<T>(self: &Arc<Self>, session: &str, ask: Ask<T>) -> Result<T, AskError> {
        let floor = self.stand(session, Going::There).await?;
        let answer = self.ask(ask).await;
        leave(floor).await;
        answer
    }

    /// As [`ServerLink::once`], of a session.
    ///
    /// # Errors
    /// The same, and the server's refusal to go there.
    pub async fn once_at<T>(self: &Arc<Self>, session: &str, ask: &Ask<T>) -> Result<T, AskError> {
        let floor = self.stand(session, Going::There).await?;
        let answer = self.once(ask).await;
        leave(floor).await;
        answer
    }

    /// As [`ServerLink::once_at`], for what may take minutes: others have the floor meanwhile.
    ///
    /// # Errors
    /// The same.
    pub async fn slow_at<T>(self: &Arc<Self>, session: &str, ask: &Ask<T>) -> Result<T, AskError> {
        let floor = self.stand(session, Going::There).await?;
        let mut asked = pin!(self.patiently(ask));
        let early = tokio::select! {
            answer = &mut asked => Some(answer),
            () = sleep(SLOW_KEEPS) => None,
        };
        leave(floor).await;
        match early {
            Some(answer) => answer,
            None => asked.await,
        }
    }

    /// As [`ServerLink::ask`], for what makes another session current by itself.
    ///
    /// # Errors
    /// The same.
    pub async fn ask_alone<T>(&self, ask: Ask<T>) -> Result<T, AskError> {
        let _floor = self.floor.lock().await;
        self.ask(ask).await
    }
}

async fn leave(floor: Option<Floor>) {
    if let Some(floor) = floor {
        floor.leave().await;
    }
}

/// What was refused was the way to the session: what was meant for it never left.
fn not_sent(failed: AskError) -> AskError {
    AskError { uncertain: false, ..failed }
}

/// Whether something runs or waits in this state.
#[must_use]
pub fn is_busy(state: &SessionState) -> bool {
    match state {
        SessionState::Running | SessionState::Waiting | SessionState::Rescheduling | SessionState::Stopping => true,
        SessionState::Unknown | SessionState::Idle | SessionState::Ended | SessionState::Other { .. } => false,
    }
}
