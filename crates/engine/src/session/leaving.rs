//! The app ends while a turn goes on whose stream is its life.

use contract::connection::ConnectionCause;
use store::StoreError;

use super::{local::LocalRecord, task::SessionTask, turn_stream::TurnStream};

impl SessionTask {
    /// Says in the log, at once, that the turn breaks off because the app does: the next start would only find that it
    /// broke off some time. What was on its way and not answered stays in the outbox, where the next start finds it.
    pub(super) async fn leave_turn(&mut self) -> Result<(), StoreError> {
        self.drain_held().await?;
        match self.stream.turn.take() {
            // It goes on without us, and its history will tell.
            Some(TurnStream { began: None, over: false, .. }) if self.history_tells() => {
                self.take_local(&LocalRecord::Dropped { cause: ConnectionCause::Closed }, None).await
            }
            Some(TurnStream { began: None, over: false, .. }) => self.take_local(&LocalRecord::AppClosed, None).await,
            _ => Ok(()),
        }
    }
}
