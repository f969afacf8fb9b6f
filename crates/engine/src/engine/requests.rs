//! Requests and decisions.

use contract::{
    command::{LogQuery, NoArgs},
    error::AppError,
    request::{Decision, LedgerRow, Request},
};

use super::Engine;
use crate::session::Command;

impl Engine {
    /// Answers a request: checked, written down, synced, on its way.
    ///
    /// # Errors
    /// `RequestChanged`, `RequestSettled`, `RequestNotReady` and others; nothing was sent then.
    pub async fn decide(&self, decision: Decision) -> Result<Request, AppError> {
        self.ask_session(decision.session, |reply| Command::Decide { decision, reply }).await
    }

    /// Every request that waits, of every server, oldest first.
    ///
    /// # Errors
    /// A failing store.
    pub async fn waiting_requests(&self, _: NoArgs) -> Result<Vec<Request>, AppError> {
        let mut waiting = Vec::new();
        for row in self.hub().overview().sessions {
            if row.waiting > 0 {
                waiting.extend(self.ask_session(row.id, |reply| Command::Waiting { reply }).await?);
            }
        }
        waiting.sort_by_key(|request| request.asked_at);
        Ok(waiting)
    }

    /// The decisions of a session, newest first.
    ///
    /// # Errors
    /// A failing store.
    pub async fn decisions(&self, query: LogQuery) -> Result<Vec<LedgerRow>, AppError> {
        Ok(self.hub().store.decisions(Some(query.session), query.limit.min(1_000)).await?)
    }
}
