//! Stopping a turn on a server that ends it only when what waits in it was answered: what waits is refused, the end is
//! waited for, and then the stream is let go (runs-server §8).

use contract::{
    error::{AppError, ErrorCode},
    request::{ChoiceKind, DecidedBy, Decision, Request},
    session::StopState,
};
use store::StoreError;
use tokio::time::Instant;

use super::{
    handle::Reply,
    local::LocalRecord,
    task::{SessionTask, answer},
};
use crate::server::floor::is_busy;

impl SessionTask {
    /// Whether the stop that was asked for is what will have ended the turn.
    pub(super) fn stop_ends_turn(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.protocol.settle_on_stop().is_some())
    }

    fn stop_is_asked_for(&self) -> bool {
        matches!(self.fold.reducer.stop, StopState::Requested { .. })
    }

    /// The server cannot be asked to stop: we listen no longer, it goes on, and its history will hold the rest. What is
    /// sent next waits for that.
    pub(super) async fn let_go(&mut self, reply: Reply<()>) -> Result<(), StoreError> {
        if self.waits_here() {
            let words = "Nothing runs: the agent waits for your answers. Decline what it asks to go on.";
            answer(reply, Err(AppError::new(ErrorCode::Unsupported, words)));
            return Ok(());
        }
        if self.stream.turn.is_some() {
            self.take_local(&LocalRecord::LetGo, None).await?;
            self.hold_queue_unless(false).await?;
            self.cut_turn().await?;
            self.beside.owe_for_turn();
            self.look();
        }
        answer(reply, Ok(()));
        Ok(())
    }

    /// The server took the stop: what waits is refused, and the end gets its time.
    pub(super) async fn stop_taken(&mut self) -> Result<(), StoreError> {
        let wait = self.link.as_ref().and_then(|link| link.protocol.settle_on_stop());
        let Some(wait) = wait.filter(|_| self.stop_is_asked_for()) else { return Ok(()) };
        self.stop_by = Some(Instant::now() + wait);
        self.refuse_waiting().await?;
        self.look();
        Ok(())
    }

    /// Refuses what waits in a turn that is being stopped.
    pub(super) async fn refuse_waiting(&mut self) -> Result<(), StoreError> {
        if self.stop_by.is_none() {
            return Ok(());
        }
        let open = self.fold.reducer.requests.open();
        let waiting: Vec<Request> = open.filter(|request| !self.in_flight.contains_key(&request.id)).cloned().collect();
        for request in waiting {
            let no =
                request.choices.iter().find(|choice| matches!(choice.kind, ChoiceKind::Deny | ChoiceKind::Decline));
            let Some(choice) = no.cloned() else { continue };
            let decision = Decision {
                session: self.id,
                request: request.id.clone(),
                digest: request.digest.clone(),
                choice: choice.id.clone(),
                reason: None,
                answers: Vec::new(),
                result: None,
            };
            match self.write_decision(&request, &choice, decision, DecidedBy::Stop).await {
                // Settled meanwhile: that is what was wanted.
                Err(StoreError::AlreadyDecided { .. }) | Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The end did not come in its time: the stream is let go, which ends the run wherever it stood.
    pub(super) async fn stop_overdue(&mut self) -> Result<(), StoreError> {
        self.stop_by = None;
        if self.stop_is_asked_for() {
            self.cut_turn().await?;
            self.look();
        }
        self.settle_stop().await
    }

    /// Nothing runs any more: a stop that was asked for is done, in whatever words the server said so.
    pub(super) async fn settle_stop(&mut self) -> Result<(), StoreError> {
        if self.stream.is_open() {
            return Ok(());
        }
        self.stop_by = None;
        if self.stop_is_asked_for() && self.stop_ends_turn() {
            self.take_local(&LocalRecord::StopConfirmed, None).await?;
        }
        Ok(())
    }

    /// The server says that nothing runs: so a stop is done.
    pub(super) async fn settle_stop_if_idle(&mut self) -> Result<(), StoreError> {
        if is_busy(&self.fold.reducer.state) { Ok(()) } else { self.settle_stop().await }
    }
}
