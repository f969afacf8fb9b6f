//! The task that follows one server's list of sessions.

use std::{collections::HashMap, sync::Arc, time::Duration};

use contract::{
    error::ErrorCode,
    probe::ProbeLayer,
    server::ServerState,
    session::{ClosedReason, SessionId, SessionState},
};
use protocols::RemoteSession;
use store::{SessionRecord, StoreError, StoredSession};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    floor::is_busy,
    link::{AskError, ServerLink},
};
use crate::{engine::Engine, rows, session::Command};

/// How often the list is read.
const EVERY: Duration = Duration::from_secs(5);

/// The longest pause after failures.
const LONGEST: Duration = Duration::from_secs(30);

/// Every so many readings the older pages are read, too.
const WHOLE_EVERY: u32 = 12;

/// Pages of a whole reading at most.
const MOST_PAGES: u32 = 20;

/// Idle sessions with news that are read in the background after one listing.
const READ_PER_LISTING: usize = 4;

/// Follows one server.
pub struct Poll {
    /// Everything else.
    pub engine: Engine,
    /// The way to the server.
    pub link: Arc<ServerLink>,
    /// Ends it.
    pub cancel: CancellationToken,
}

impl Poll {
    /// Runs until it is cancelled.
    pub async fn run(self) {
        let mut failures = 0u32;
        let mut readings = 0u32;
        let mut listed = HashMap::new();
        loop {
            let whole = readings.is_multiple_of(WHOLE_EVERY);
            let list = tokio::select! {
                () = self.cancel.cancelled() => return,
                list = self.list(whole, &mut listed) => list,
            };
            // A server that cannot be reached has nothing to say of itself either.
            if whole && list.as_ref().map_or_else(|failed| failed.layer.is_none(), |()| true) {
                self.facts().await;
            }
            let pause = match list {
                Ok(()) => {
                    failures = 0;
                    readings = readings.wrapping_add(1);
                    Some(EVERY)
                }
                Err(failed) => {
                    failures += 1;
                    let pause =
                        Duration::from_secs(1).saturating_mul(2u32.saturating_pow(failures.min(6))).min(LONGEST);
                    self.failed(&failed, pause)
                }
            };
            let until = pause.map(|pause| Instant::now() + pause);
            tokio::select! {
                () = self.cancel.cancelled() => return,
                () = self.link.look.notified() => {}
                () = tokio::time::sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {}
            }
        }
    }

    /// What the server says of itself: shown beside everything else, so that a failure is no news of the list.
    async fn facts(&self) {
        let read = self.engine.read_facts(&self.link);
        tokio::select! {
            () = self.cancel.cancelled() => {}
            read = read => if let Err(failed) = read {
                tracing::info!(server_id = self.link.id.0, code = ?failed.error.code, "the server's facts could not be read");
            }
        }
    }

    /// What a failure makes of the server's state, and when it is tried again; `None` = on the person's word.
    fn failed(&self, failed: &AskError, pause: Duration) -> Option<Duration> {
        let hub = self.engine.hub();
        let retry_at = hub.now() + i64::try_from(pause.as_millis()).unwrap_or(0);
        let (state, pause) = match failed.error.code {
            ErrorCode::Unauthorized => (ServerState::Unauthorized, None),
            ErrorCode::Forbidden => (ServerState::Forbidden { message: failed.error.message.clone() }, Some(LONGEST)),
            _ => {
                let detail = failed.error.detail.clone().unwrap_or_else(|| failed.error.message.clone());
                let layer = failed.layer.unwrap_or(ProbeLayer::Answer);
                (ServerState::Unreachable { layer, detail, retry_at: Some(retry_at) }, Some(pause))
            }
        };
        self.link.state(state);
        pause
    }

    async fn list(
        &self,
        whole: bool,
        listed: &mut HashMap<String, (SessionId, RemoteSession)>,
    ) -> Result<(), AskError> {
        let mut page = None;
        let mut changed = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..if whole { MOST_PAGES } else { 1 } {
            let Some(ask) = self.link.protocol.list_sessions(page.as_deref()) else { return Ok(()) };
            let answer = self.link.ask(ask).await?;
            for remote in answer.rows {
                if listed.get(&remote.id).is_none_or(|(_, known)| *known != remote) {
                    changed.push(remote);
                }
            }
            match answer.next {
                Some(next) if seen.insert(next.clone()) => page = Some(next),
                _ => break,
            }
        }
        match self.take(changed, listed).await {
            Ok(()) => Ok(()),
            Err(error) => {
                tracing::error!(server_id = self.link.id.0, %error, "the list could not be kept");
                Ok(())
            }
        }
    }

    async fn take(
        &self,
        changed: Vec<RemoteSession>,
        listed: &mut HashMap<String, (SessionId, RemoteSession)>,
    ) -> Result<(), StoreError> {
        let hub = self.engine.hub();
        let mut to_read = READ_PER_LISTING;
        let known: HashMap<String, StoredSession> = hub
            .store
            .sessions(Some(self.link.id.clone()))
            .await?
            .into_iter()
            .map(|session| (session.record.remote_id.clone(), session))
            .collect();
        for remote in changed {
            if self.cancel.is_cancelled() {
                // Paused or removed meanwhile: its rows must not come back.
                return Ok(());
            }
            let known = known.get(&remote.id);
            // A task keeps its session's record itself.
            if let Some(known) = known
                && let Some(task) = self.engine.running_session(known.id).await
            {
                // What it did not hear is told again with the next reading.
                if task.nudge(Command::Listed { remote: Box::new(remote.clone()) }) {
                    listed.insert(remote.id.clone(), (known.id, remote));
                }
                continue;
            }
            let record = merged(known.map(|known| &known.record), &remote, &self.link);
            let id = hub.store.put_session(record.clone()).await?;
            if rows::belongs_in_lists(&record) {
                hub.put_row(rows::row_of(id, &record, hub.now()));
            } else {
                hub.remove_row(id);
            }
            let stale = record.synced_updated_at.is_none() || record.synced_updated_at < record.updated_at;
            let busy = is_busy(&remote.state);
            // Reading a session of a server that has one current session at a time would move it there.
            let stale = stale && !self.link.protocol.capabilities().one_current;
            // What runs is watched. What is idle and has news is read a few at a time.
            if busy || (stale && !remote.archived && to_read > 0) {
                to_read -= usize::from(!busy);
                let command = Command::Listed { remote: Box::new(remote.clone()) };
                if let Err(error) = self.engine.tell_session(id, command).await {
                    tracing::warn!(session_id = id.0, code = ?error.code, "the session could not be followed");
                }
            } else if stale && !remote.archived {
                // Not noted as listed: it comes up again with the next reading.
                continue;
            }
            listed.insert(remote.id.clone(), (id, remote));
        }
        Ok(())
    }
}

/// A session's record with what the list says of it.
pub fn merged(known: Option<&SessionRecord>, remote: &RemoteSession, link: &ServerLink) -> SessionRecord {
    let mut record = known.cloned().unwrap_or_else(|| SessionRecord {
        server: link.id.clone(),
        remote_id: remote.id.clone(),
        title: None,
        agent: None,
        state: remote.state.clone(),
        waiting: 0,
        waiting_kind: None,
        activity: None,
        created_at: None,
        updated_at: None,
        last_event_at: remote.updated_at,
        synced_updated_at: None,
        archived: false,
        ended: None,
        run_options: None,
    });
    record.title = remote.title.clone().or(record.title);
    record.agent = remote.agent.clone().or(record.agent);
    record.created_at = remote.created_at.or(record.created_at);
    record.updated_at = remote.updated_at.or(record.updated_at);
    record.archived |= remote.archived;
    // A list says "idle" of a session that waits for an answer: what its events said stands.
    let says_less = remote.state == SessionState::Idle && record.state == SessionState::Waiting;
    if !says_less && remote.state != SessionState::Unknown {
        record.state = remote.state.clone();
    }
    if remote.state == SessionState::Ended {
        record.ended.get_or_insert(ClosedReason::Terminated);
    }
    record
}
