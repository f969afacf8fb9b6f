//! What a session is asked to do, and the news of what it has asked itself.

use std::sync::Arc;

use contract::{
    connection::ConnectionState,
    error::{AppError, ErrorCode},
    patch::{ItemPage, PayloadChunk, Snapshot},
    session::{ClosedReason, SessionState},
};
use store::StoreError;

use super::{
    handle::Command,
    task::{News, SessionTask, answer},
};
use crate::server::link::ServerLink;

/// Items of a snapshot's page.
pub(super) const SNAPSHOT_ITEMS: usize = 300;

impl SessionTask {
    pub(super) async fn command(&mut self, command: Command) -> Result<(), StoreError> {
        match command {
            Command::Open { window, feed, reply } => {
                feed.open(self.id);
                self.watchers.insert(window, feed);
                let snapshot = self.snapshot().await?;
                answer(reply, Ok(Box::new(snapshot)));
                if self.fold.reducer.closed == Some(ClosedReason::Archived) && !self.history.is_complete() {
                    self.read_history();
                }
                if !self.stream.is_open() {
                    self.beside.owe_history();
                    self.look();
                }
            }
            Command::Close { window } => {
                if let Some(feed) = self.watchers.remove(&window) {
                    feed.close_session(self.id);
                }
            }
            Command::Items { before, limit, reply } => {
                let (items, has_older) = self.fold.reducer.transcript.page(Some(&before), limit);
                answer(reply, Ok(ItemPage { items, has_older }));
            }
            Command::Payload { handle, from, limit, reply } => answer(reply, self.payload(&handle, from, limit)),
            Command::Message { text, images, reply } => self.compose(text, images, reply).await?,
            Command::Queued { id, release, reply } => self.queued(&id, release, reply).await?,
            Command::DeclineAndSend { act, reply } => self.decline_and_send(act, reply).await?,
            Command::Setup { setup, secrets, reply } => self.set_setup(setup, secrets, reply).await?,
            Command::Stop { reply } => self.stop(reply).await?,
            Command::Resume { reply } => self.resume(reply).await?,
            Command::RunOptions { options, reply } => self.set_run_options(options, reply).await?,
            Command::Look => {
                self.beside.owe_history();
                self.look();
            }
            Command::Context { context, reply } => {
                self.fold.reducer.run.context = Some(context.clone());
                self.fold.reducer.touch_header();
                answer(reply, Ok(self.context().unwrap_or(context)));
            }
            Command::ServerFacts => self.fold.reducer.touch_header(),
            Command::Outcome { outgoing, reply } => self.outcome(&outgoing, reply),
            Command::Decide { decision, reply } => self.decide(decision, reply).await?,
            Command::Waiting { reply } => {
                answer(reply, Ok(self.fold.reducer.requests.open().cloned().collect()));
            }
            // Obeyed by the loop, which alone can end the task.
            Command::Retire => {}
            Command::RetryNow => {
                self.stream.refused = false;
                self.stream.retry_now();
                self.look();
                if self.history.is_given_up() || self.retry_at.take().is_some() {
                    self.read_history();
                }
            }
            Command::Wake => {
                self.stream.wake();
                self.look();
            }
            Command::Listed { remote } => self.listed(&remote),
            Command::Relink { link, same_server } => self.relink(link, same_server).await?,
            Command::ServerRemoved => {
                self.relink(None, false).await?;
                self.fold.reducer.closed.get_or_insert(ClosedReason::ServerRemoved);
                self.hub.remove_row(self.id);
            }
            Command::Facts { title, archived, deleted } => {
                if let Some(title) = title {
                    self.fold.reducer.title = Some(title);
                }
                if archived {
                    self.record.archived = true;
                    self.fold.reducer.closed.get_or_insert(ClosedReason::Archived);
                }
                if deleted {
                    self.fold.reducer.end_session(ClosedReason::Deleted, self.hub.now());
                }
                self.fold.reducer.touch_header();
            }
        }
        self.publish(false).await
    }

    pub(super) async fn take_news(&mut self, news: News) -> Result<(), StoreError> {
        match news {
            News::History(news) => self.take_history(news).await?,
            News::Session(remote) => self.take_session(remote.as_deref()).await?,
            News::Counted => {}
            News::Delivered { request, result } => self.delivered(&request, result).await?,
            News::Messaged { id, result } => self.messaged(&id, result).await?,
            News::Looked { generation, looked } => self.looked(generation, looked).await?,
            News::CarriedOut { request, result } => self.carried_out(&request, result).await?,
            News::SetUp { setup, result, reply } => self.setup_changed(setup, result, reply),
            News::Stopped { result, reply } => self.stopped(result, reply).await?,
            News::Outcome { result, reply } => match result {
                Ok(sent) => {
                    self.take_echoes(sent.echoes).await?;
                    answer(reply, Ok(()));
                }
                Err(failed) => answer(reply, Err(failed.error)),
            },
        }
        self.publish(false).await
    }

    /// The server's list says something of this session.
    pub(super) fn listed(&mut self, remote: &protocols::RemoteSession) {
        let turn_streams = self.has_turn_streams();
        self.record.updated_at = remote.updated_at.or(self.record.updated_at);
        self.record.created_at = remote.created_at.or(self.record.created_at);
        let reducer = &mut self.fold.reducer;
        if remote.title.is_some() && reducer.title != remote.title {
            reducer.title.clone_from(&remote.title);
            reducer.touch_header();
        }
        if remote.agent.is_some() && reducer.agent != remote.agent {
            reducer.agent.clone_from(&remote.agent);
            reducer.touch_header();
        }
        if remote.archived && !self.record.archived {
            self.record.archived = true;
            reducer.closed.get_or_insert(ClosedReason::Archived);
            reducer.touch_header();
        }
        if remote.usage != contract::session::Usage::default() && reducer.turn.session_usage != remote.usage {
            reducer.turn.usage(remote.usage.clone(), contract::event::UsageScope::Session);
            reducer.touch_header();
        }
        let listed_ended = remote.state == SessionState::Ended && reducer.closed.is_none();
        if listed_ended {
            reducer.end_session(ClosedReason::Terminated, self.hub.now());
        }
        // Without a live stream, the list is the only news: read what happened, or watch what runs.
        let stale = self.record.synced_updated_at.is_none() || self.record.synced_updated_at < self.record.updated_at;
        if turn_streams {
            self.listed_beside(remote, stale);
            return;
        }
        if !self.stream.is_live() {
            if remote.state != SessionState::Unknown && remote.state != SessionState::Idle && !listed_ended {
                reducer.state = remote.state.clone();
                reducer.touch_header();
            }
            if stale {
                self.read_history();
            }
        }
    }

    pub(super) async fn relink(&mut self, link: Option<Arc<ServerLink>>, same_server: bool) -> Result<(), StoreError> {
        let goes_on = same_server && link.is_some() && self.stream.turn.is_some();
        if !goes_on {
            self.close_stream().await?;
        }
        self.stream.refused = false;
        let was_reading = self.history.abandon();
        self.beside.abandon();
        if let Some(link) = &link {
            self.fold.reducer.closed.take_if(|closed| *closed == ClosedReason::ServerRemoved);
            self.server_name.clone_from(&link.name);
            self.fold.reducer.requests.rename_server(&link.name);
        }
        self.link = link;
        self.fold.reducer.requests.answers_tell = self.has_turn_streams();
        if !goes_on {
            self.stream.state = if self.link.is_some() { ConnectionState::Closed } else { ConnectionState::Paused };
        }
        self.fold.reducer.touch_header();
        if was_reading {
            self.read_history();
        }
        if self.has_turn_streams() {
            // Loaded without its server, it could not be told whether a turn of ours was left open.
            if !goes_on {
                self.find_open_turn().await?;
            }
            if self.is_needed() || self.beside.is_unsettled() {
                self.look();
            }
        }
        self.retry_deliveries_now();
        Ok(())
    }

    pub(super) async fn snapshot(&mut self) -> Result<Snapshot, StoreError> {
        // What is queued for other windows must not be mixed with what this one is given whole.
        self.publish(false).await?;
        let (items, has_older) = self.fold.reducer.transcript.page(None, SNAPSHOT_ITEMS);
        Ok(Snapshot {
            session: self.id,
            revision: 0,
            header: self.header(),
            items,
            has_older,
            total_items: self.fold.reducer.transcript.len() as u64,
            requests: self.fold.reducer.requests.iter().cloned().collect(),
            connection_log: self.connection_rows.clone(),
            decisions: self.hub.store.decisions(Some(self.id), 50).await?,
        })
    }

    pub(super) fn payload(&self, handle: &str, from: u64, limit: u64) -> Result<PayloadChunk, AppError> {
        let reducer = &self.fold.reducer;
        let whole =
            reducer.transcript.payload(handle).or_else(|| reducer.requests.payload(handle)).ok_or_else(|| {
                AppError::new(ErrorCode::NotFound, "This text is no longer here. Open the session again.")
            })?;
        let skip = usize::try_from(from).unwrap_or(usize::MAX);
        let take = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(PayloadChunk {
            text: whole.chars().skip(skip).take(take).collect(),
            from,
            chars: whole.chars().count() as u64,
            read_at: self.hub.now(),
        })
    }
}
