//! Messages where each begins a turn of its own, or steers the one that runs.

use contract::{
    error::{AppError, ErrorCode},
    item::MessageState,
    server::WhileRunning,
};
use protocols::{Outgoing, Sent};
use store::{OutboxMessage, OutboxState, StoreError};

use super::{
    handle::Reply,
    task::{SessionTask, answer},
    turn_stream::{Began, TurnStream},
};
use crate::server::{floor::is_busy, link::AskError};

impl SessionTask {
    /// What a message is to the server.
    pub(super) fn outgoing(&self, message: &OutboxMessage) -> Outgoing {
        Outgoing::Message {
            text: message.body.clone(),
            images: message.images.clone(),
            options: self.run_options.clone(),
            setup: None,
        }
    }

    /// Sends the next queued message: into the turn that runs, or as the beginning of one.
    pub(super) async fn flush_turn(&mut self) -> Result<(), StoreError> {
        let Some(index) = self.outbox.iter().position(|message| message.state == OutboxState::Queued) else {
            return Ok(());
        };
        let steers =
            self.link.as_ref().is_some_and(|link| link.protocol.capabilities().while_running == WhileRunning::Steer);
        let into_running = match &self.stream.turn {
            Some(turn) => {
                if !steers || turn.over || turn.takes_no_more || !self.stream.is_live() {
                    return Ok(());
                }
                true
            }
            None if is_busy(&self.fold.reducer.state) => {
                if !steers || self.beside.is_looking() {
                    return Ok(());
                }
                true
            }
            None => false,
        };
        if !into_running && !self.may_begin() {
            return Ok(());
        }
        self.lapse_unasked().await?;
        let Some(message) = self.outbox.get_mut(index) else { return Ok(()) };
        message.state = OutboxState::Sending;
        let message = message.clone();
        // Written down before it leaves: a crash finds that it was on its way.
        self.hub.store.put_outbox(message.clone()).await?;
        self.fold.reducer.local_message(&message.id, &message.body, MessageState::Sending, message.at);
        self.fold.reducer.touch_header();
        if into_running {
            self.post_message(message);
            return Ok(());
        }
        let (mut outgoing, id) = (self.outgoing(&message), message.id.clone());
        if let Outgoing::Message { setup, .. } = &mut outgoing {
            *setup = self.setup_to_send(Vec::new()).await;
        }
        if self.open_turn(&outgoing, Began::Message(Box::new(message))).is_err() {
            self.hold_back(&id).await?;
            self.say_refused(&unsupported());
        }
        Ok(())
    }

    /// Whether what is known of the session is enough to begin a turn in it; where not, it is found out.
    fn may_begin(&mut self) -> bool {
        if self.stream.is_open() {
            return false;
        }
        if !self.beside.has_read() {
            self.beside.owe_history();
        }
        if !self.beside.is_unsettled() {
            return true;
        }
        if !self.beside.is_looking() && self.beside.at.is_none() {
            self.look();
        }
        false
    }

    /// The server's answer to a message that was to steer a turn.
    pub(super) async fn steered(&mut self, index: usize, result: Result<Sent, AskError>) -> Result<(), StoreError> {
        let Some(message) = self.outbox.get_mut(index) else { return Ok(()) };
        match result {
            Ok(sent) if sent.too_late => {
                // The turn was over already: it begins the next one.
                message.state = OutboxState::Queued;
                let message = message.clone();
                self.fold.reducer.drop_local_message(&message.id);
                self.hub.store.put_outbox(message).await?;
                if let Some(turn) = &mut self.stream.turn {
                    turn.takes_no_more = true;
                }
                self.look();
            }
            Ok(_) => {
                let message = message.clone();
                self.fold.reducer.local_message(&message.id, &message.body, MessageState::Queued, message.at);
                self.steered.insert(message.id);
            }
            Err(failed) if failed.uncertain => {
                let message = message.clone();
                self.lose(message);
                self.look();
            }
            Err(failed) => {
                let id = message.id.clone();
                self.hold_back(&id).await?;
                self.say_refused(&failed.error);
                self.look();
            }
        }
        self.fold.reducer.touch_header();
        self.flush_outbox().await
    }

    /// The turn is over: what was to steer it and was not taken in waits for the person's word.
    pub(super) async fn hold_untaken(&mut self) -> Result<(), StoreError> {
        for id in std::mem::take(&mut self.steered) {
            if self.outbox.iter().any(|message| message.id == id && message.state == OutboxState::Sending) {
                self.hold_back(&id).await?;
            }
        }
        Ok(())
    }

    /// Takes up a run that ended early.
    pub(super) async fn resume(&mut self, reply: Reply<()>) -> Result<(), StoreError> {
        if let Some(refused) = self.cannot_send() {
            answer(reply, Err(refused));
            return Ok(());
        }
        let is_over = !is_busy(&self.fold.reducer.state);
        if is_over && self.beside.resume.is_none() && self.stream.turn.as_ref().is_some_and(TurnStream::has_begun) {
            // The turn is shown as over, and its stream is about to end.
            self.beside.resume = Some(reply);
            return Ok(());
        }
        if self.stream.is_open() || !is_over {
            answer(reply, Err(AppError::new(ErrorCode::Busy, "A run goes on in this session already.")));
            return Ok(());
        }
        self.lapse_unasked().await?;
        let outgoing = Outgoing::Resume { options: self.run_options.clone() };
        if let Err(Began::Resume(reply)) = self.open_turn(&outgoing, Began::Resume(reply)) {
            answer(reply, Err(unsupported()));
        }
        Ok(())
    }
}

fn unsupported() -> AppError {
    AppError::new(ErrorCode::Unsupported, "This server cannot do that.")
}
