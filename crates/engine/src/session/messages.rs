//! Messages of the person: written down first, sent when they can be, held when the turn was stopped.

use contract::{
    command::SentImage,
    error::{AppError, ErrorCode},
    item::{ItemBody, MessageState, Part, Role},
    server::WhileRunning,
    session::{QueuedMessage, SessionState, StopState},
};
use protocols::{Outgoing, Repeat, Sent};
use store::{OutboxMessage, OutboxState, StoreError};
use tokio::time::{Duration, Instant};

use super::{
    handle::Reply,
    local::LocalRecord,
    reduce::transcript::Transcript,
    task::{News, SessionTask, answer},
};
use crate::{ids, server::link::AskError};

/// How far the server's clock may be behind ours when an echo is told from an older message of the same words.
const CLOCK_SKEW_MS: i64 = 60_000;

impl SessionTask {
    /// Takes a message of the person.
    pub(super) async fn compose(
        &mut self,
        text: String,
        images: Vec<SentImage>,
        reply: Reply<()>,
    ) -> Result<(), StoreError> {
        if let Some(refused) = self.cannot_send() {
            answer(reply, Err(refused));
            return Ok(());
        }
        if text.trim().is_empty() {
            answer(reply, Err(AppError::new(ErrorCode::InvalidInput, "The message is empty. Write something first.")));
            return Ok(());
        }
        let message = OutboxMessage {
            session: self.id,
            id: format!("local-{}", ids::random()),
            body: text,
            images,
            key: ids::random(),
            at: self.now(),
            state: OutboxState::Queued,
        };
        self.hub.store.put_outbox(message.clone()).await?;
        self.outbox.push(message);
        // A person who writes wants the session to go on: what a stop held back may follow.
        self.fold.reducer.touch_header();
        answer(reply, Ok(()));
        self.flush_outbox().await
    }

    pub(super) fn cannot_send(&self) -> Option<AppError> {
        if self.fold.reducer.closed.is_some() {
            return Some(AppError::new(ErrorCode::SessionEnded, "This session has ended: nothing can be sent to it."));
        }
        self.link.is_none().then(|| {
            AppError::new(ErrorCode::ServerPaused, "This server is paused or off. Switch it on to send something.")
        })
    }

    /// Forgets or releases a queued message.
    pub(super) async fn queued(&mut self, id: &str, release: bool, reply: Reply<()>) -> Result<(), StoreError> {
        let Some(index) =
            self.outbox.iter().position(|message| message.id == id && message.state != OutboxState::Sending)
        else {
            answer(reply, Err(AppError::new(ErrorCode::NotFound, "This message is no longer in the queue.")));
            return Ok(());
        };
        if release {
            if let Some(message) = self.outbox.get_mut(index) {
                message.state = OutboxState::Queued;
                self.hub.store.put_outbox(message.clone()).await?;
            }
            self.turned_away_no_more();
        } else {
            self.outbox.remove(index);
            self.hub.store.remove_outbox(self.id, id.to_owned()).await?;
        }
        self.fold.reducer.touch_header();
        answer(reply, Ok(()));
        self.flush_outbox().await
    }

    /// What the header shows of the queue.
    pub(super) fn queue(&self) -> Vec<QueuedMessage> {
        self.outbox
            .iter()
            .filter(|message| message.state != OutboxState::Sending)
            .map(|message| QueuedMessage {
                id: message.id.clone(),
                text: message.body.clone(),
                at: message.at,
                held: message.state == OutboxState::Held,
                images: u32::try_from(message.images.len()).unwrap_or(u32::MAX),
            })
            .collect()
    }

    /// Shows what is on its way, after everything was made again. What a crash left on its way is uncertain.
    pub(super) fn show_outbox(&mut self, before: &Transcript) {
        for message in self.outbox.iter().filter(|message| message.state == OutboxState::Sending) {
            let state = match before.get(&message.id).map(|item| &item.body) {
                Some(ItemBody::Message(shown)) => shown.state.clone(),
                _ => MessageState::Uncertain,
            };
            self.fold.reducer.local_message(&message.id, &message.body, state, message.at);
        }
    }

    /// What a crash left on its way may be in the log already: its echo came, and the outbox was not cleared. Where
    /// sending it again is safe, that is what tells; elsewhere the log does.
    pub(super) async fn drop_arrived(&mut self) -> Result<(), StoreError> {
        if self.message_repeat() == Repeat::SameKey {
            return Ok(());
        }
        let sending: Vec<OutboxMessage> =
            self.outbox.iter().filter(|message| message.state == OutboxState::Sending).cloned().collect();
        for message in sending {
            let arrived = self.fold.reducer.transcript.iter().rev().any(|item| match &item.body {
                ItemBody::Message(said) => {
                    let whole: String = said
                        .parts
                        .iter()
                        .filter_map(|part| if let Part::Text(text) = part { Some(text.text.as_str()) } else { None })
                        .collect();
                    said.role == Role::User
                        && item.id != message.id
                        && item.at + CLOCK_SKEW_MS >= message.at
                        && whole == message.body
                }
                _ => false,
            });
            if arrived {
                self.outbox.retain(|kept| kept.id != message.id);
                self.fold.reducer.drop_local_message(&message.id);
                self.hub.store.remove_outbox(self.id, message.id).await?;
            }
        }
        Ok(())
    }

    /// A turn ended otherwise than by itself: what is queued waits for the person's word (P-23).
    pub(super) async fn hold_queue_unless(&mut self, goes_on: bool) -> Result<(), StoreError> {
        if goes_on {
            return Ok(());
        }
        for message in self.outbox.iter_mut().filter(|message| message.state == OutboxState::Queued) {
            message.state = OutboxState::Held;
            self.hub.store.put_outbox(message.clone()).await?;
        }
        Ok(())
    }

    /// A message is on its way. One that steers and was accepted is only kept until the turn takes it in.
    fn is_sending(&self) -> bool {
        let on_its_way = |message: &OutboxMessage| message.state == OutboxState::Sending;
        self.outbox.iter().any(|message| on_its_way(message) && !self.steered.contains(&message.id))
    }

    /// Sends the next queued message when the server can take it.
    pub(super) async fn flush_outbox(&mut self) -> Result<(), StoreError> {
        let Some(link) = self.link.clone() else { return Ok(()) };
        self.send_gathered().await?;
        if self.fold.reducer.closed.is_some()
            || self.is_sending()
            || matches!(self.fold.reducer.stop, StopState::Requested { .. })
            || self.is_turned_away()
        {
            return Ok(());
        }
        if self.has_turn_streams() {
            return self.flush_turn().await;
        }
        // A stream that starts at its end would miss the beginning of the answer (qoder-cloud-agents §11).
        if !self.stream.is_live() || self.history.holds_live() {
            return Ok(());
        }
        let busy = !matches!(self.fold.reducer.state, SessionState::Idle | SessionState::Unknown);
        let takes_while_busy = match link.protocol.capabilities().while_running {
            WhileRunning::QueueHere => false,
            WhileRunning::QueueAtServer | WhileRunning::Steer => self.fold.reducer.state == SessionState::Running,
        };
        if busy && !takes_while_busy {
            return Ok(());
        }
        let Some(index) = self.outbox.iter().position(|message| message.state == OutboxState::Queued) else {
            return Ok(());
        };
        if let Some(message) = self.outbox.get_mut(index) {
            message.state = OutboxState::Sending;
            let message = message.clone();
            self.hub.store.put_outbox(message.clone()).await?;
            self.fold.reducer.local_message(&message.id, &message.body, MessageState::Sending, message.at);
            self.fold.reducer.touch_header();
            self.post_message(message);
        }
        Ok(())
    }

    pub(super) fn post_message(&self, message: OutboxMessage) {
        let Some(link) = self.link.clone() else { return };
        let outgoing = self.outgoing(&message);
        let Some(ask) = link.protocol.send(&self.record.remote_id, &outgoing, &message.key) else { return };
        let news = self.news.clone();
        let remote = self.record.remote_id.clone();
        tokio::spawn(async move {
            let result = link.once_at(&remote, &ask).await;
            // The session's task may have ended; the outbox keeps the message.
            let _ = news.send(News::Messaged { id: message.id, result }).await;
        });
    }

    /// The server's answer to a message.
    pub(super) async fn messaged(&mut self, id: &str, result: Result<Sent, AskError>) -> Result<(), StoreError> {
        let Some(index) = self.outbox.iter().position(|message| message.id == id) else {
            // Its echo came first and settled it.
            return match result {
                Ok(sent) => self.take_echoes(sent.echoes).await,
                Err(_) => Ok(()),
            };
        };
        if self.has_turn_streams() {
            return self.steered(index, result).await;
        }
        match result {
            Ok(sent) => {
                self.turned_away_no_more();
                self.outbox.remove(index);
                self.hub.store.remove_outbox(self.id, id.to_owned()).await?;
                if sent.echoes.is_empty() {
                    // Without an echo the stream alone will bring it.
                    self.read_history();
                } else {
                    self.take_echoes(sent.echoes).await?;
                }
                self.fold.reducer.drop_local_message(id);
            }
            Err(failed) => self.message_failed(index, failed).await?,
        }
        self.fold.reducer.touch_header();
        self.flush_outbox().await
    }

    async fn message_failed(&mut self, index: usize, failed: AskError) -> Result<(), StoreError> {
        let repeat = self.message_repeat();
        let Some(message) = self.outbox.get_mut(index) else { return Ok(()) };
        let id = message.id.clone();
        if failed.uncertain && repeat != Repeat::Freely {
            // It may have arrived: shown as uncertain, looked for in the history, sent again with the same key where
            // the server knows keys.
            let (text, at) = (message.body.clone(), message.at);
            self.fold.reducer.local_message(&id, &text, MessageState::Uncertain, at);
            let since = self.history.next_reading();
            self.uncertain.insert(id, since);
            self.retry_at = Some(Instant::now() + Duration::from_secs(1));
            self.stream.check();
            return Ok(());
        }
        let back_to_queue =
            failed.error.retryable || matches!(failed.error.code, ErrorCode::Busy | ErrorCode::Conflict);
        message.state = if back_to_queue { OutboxState::Queued } else { OutboxState::Held };
        self.hub.store.put_outbox(message.clone()).await?;
        self.fold.reducer.drop_local_message(&id);
        match failed.error.code {
            // The server says that a turn runs: our picture of it is old.
            ErrorCode::Busy | ErrorCode::Conflict => self.turned_away(id, failed.error),
            // The history knows whether the session is gone.
            ErrorCode::GoneAtServer => self.read_history(),
            _ if back_to_queue => self.retry_at = Some(Instant::now() + Duration::from_secs(3)),
            _ => self.say_refused(&failed.error),
        }
        Ok(())
    }

    fn message_repeat(&self) -> Repeat {
        let outgoing = Outgoing::Message {
            text: String::new(),
            images: Vec::new(),
            options: self.run_options.clone(),
            setup: None,
        };
        self.link
            .as_ref()
            .and_then(|link| link.protocol.send(&self.record.remote_id, &outgoing, "probe"))
            .map_or(Repeat::Never, |ask| ask.repeat)
    }

    /// After the history was read: what was uncertain is there, or is sent again.
    pub(super) fn resend_uncertain(&mut self, reading: u64) {
        let repeat = self.message_repeat();
        let waiting: Vec<OutboxMessage> =
            self.outbox.iter().filter(|message| message.state == OutboxState::Sending).cloned().collect();
        for message in waiting {
            let uncertain = matches!(
                self.fold.reducer.transcript.get(&message.id).map(|item| &item.body),
                Some(ItemBody::Message(shown)) if shown.state == MessageState::Uncertain
            );
            // The same key makes it safe; where there are none, the history just read does not hold it.
            let looked_for = self.uncertain.get(&message.id).is_none_or(|since| *since <= reading);
            if uncertain && looked_for && repeat != Repeat::Never && !self.has_turn_streams() {
                self.uncertain.remove(&message.id);
                self.fold.reducer.local_message(&message.id, &message.body, MessageState::Sending, message.at);
                self.post_message(message);
            }
        }
    }

    /// Asks the server to stop the turn.
    pub(super) async fn stop(&mut self, reply: Reply<()>) -> Result<(), StoreError> {
        if self.link.as_ref().is_some_and(|link| link.protocol.capabilities().stop_lets_go) {
            return self.let_go(reply).await;
        }
        let ask = self.link.clone().and_then(|link| {
            link.protocol.send(&self.record.remote_id, &Outgoing::Stop, &ids::random()).map(|ask| (link, ask))
        });
        let Some((link, ask)) = ask else {
            answer(reply, Err(AppError::new(ErrorCode::Unsupported, "This server cannot stop a turn from here.")));
            return Ok(());
        };
        let ends_turn = self.stop_ends_turn();
        self.take_local(&LocalRecord::StopRequested { ends_turn }, None).await?;
        self.hold_queue_unless(false).await?;
        let (news, remote) = (self.news.clone(), self.record.remote_id.clone());
        tokio::spawn(async move {
            let result = link.ask_at(&remote, ask).await;
            // The session's task may have ended; then the caller is told so.
            let _ = news.send(News::Stopped { result, reply }).await;
        });
        Ok(())
    }

    /// The server's answer to a stop.
    pub(super) async fn stopped(&mut self, result: Result<Sent, AskError>, reply: Reply<()>) -> Result<(), StoreError> {
        match result {
            Ok(sent) => {
                self.take_echoes(sent.echoes).await?;
                // Where a turn's beginning was read only now, the stop is forgotten here, but not in the log.
                let open = matches!(self.fold.reducer.stop, StopState::Requested { .. }) || !self.stop_ends_turn();
                if open && matches!(self.fold.reducer.state, SessionState::Idle) {
                    self.take_local(&LocalRecord::StopConfirmed, None).await?;
                }
                self.stop_taken().await?;
                answer(reply, Ok(()));
            }
            Err(failed) => {
                self.take_local(&LocalRecord::StopRefused, None).await?;
                answer(reply, Err(failed.error));
            }
        }
        self.fold.reducer.touch_header();
        Ok(())
    }

    /// Sends a goal.
    pub(super) fn outcome(&mut self, outgoing: &Outgoing, reply: Reply<()>) {
        if let Some(refused) = self.cannot_send() {
            answer(reply, Err(refused));
            return;
        }
        let ask = self.link.clone().and_then(|link| {
            link.protocol.send(&self.record.remote_id, outgoing, &ids::random()).map(|ask| (link, ask))
        });
        let Some((link, ask)) = ask else {
            answer(reply, Err(AppError::new(ErrorCode::Unsupported, "This server does not take goals.")));
            return;
        };
        let news = self.news.clone();
        tokio::spawn(async move {
            let result = link.ask(ask).await;
            // The session's task may have ended; then the caller is told so.
            let _ = news.send(News::Outcome { result, reply }).await;
        });
    }
}
