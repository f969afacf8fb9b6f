//! What the windows and the record are told of a session.

use contract::{
    connection::{ConnectionLogKind, ConnectionLogRow},
    patch::SessionChange,
    session::{SessionHeader, SessionRow},
};
use store::{ItemsSave, StoreError, StoredItem};
use tokio::time::{Duration, Instant};

use super::task::SessionTask;

/// How long changed items may wait before the projections on disk follow.
const SAVE_AFTER: Duration = Duration::from_millis(1_500);

/// A row that only says "something came" follows this often (milliseconds).
const ROW_EVERY_MS: i64 = 1_000;

/// Rows of the connection log kept for a snapshot.
const CONNECTION_ROWS: usize = 50;

impl SessionTask {
    /// The row in lists.
    pub(super) fn row(&self) -> SessionRow {
        let reducer = &self.fold.reducer;
        let oldest = reducer.requests.open().min_by_key(|request| request.asked_at);
        SessionRow {
            id: self.id,
            server: self.record.server.clone(),
            remote_id: self.record.remote_id.clone(),
            title: reducer.title.clone(),
            state: reducer.state.clone(),
            waiting: u32::try_from(reducer.requests.open().count()).unwrap_or(u32::MAX),
            waiting_kind: oldest.map(|request| request.kind),
            activity: reducer.activity.clone(),
            last_event_at: reducer.last_event_at.or(self.record.last_event_at),
            created_at: self.record.created_at,
            archived: self.record.archived,
            live: self.stream.is_open(),
        }
    }

    /// Everything above the transcript.
    pub(super) fn header(&self) -> SessionHeader {
        let reducer = &self.fold.reducer;
        SessionHeader {
            row: self.row(),
            agent: reducer.agent.clone(),
            connection: self.stream.state.clone(),
            cursor: self.cursor.as_ref().map(|cursor| cursor.0.clone()),
            closed: reducer.closed,
            stop: reducer.stop,
            loading_history: self.history.is_loading(),
            turn: reducer.turn.turn.clone(),
            usage: reducer.turn.session_usage.clone(),
            queued: self.queue(),
            goals: reducer.goals.clone(),
            threads: reducer.threads.clone(),
        }
    }

    /// Sends what changed to the windows and the lists, and notes what the record must follow.
    pub(super) async fn publish(&mut self, header: bool) -> Result<(), StoreError> {
        let taken = self.fold.reducer.take_changes();
        let header = header || taken.header;
        if !taken.items.is_empty() || !taken.appends.is_empty() || !taken.gone.is_empty() || !taken.requests.is_empty()
        {
            self.save_at.get_or_insert_with(|| Instant::now() + SAVE_AFTER);
        }
        self.unsaved.extend(taken.items.iter().cloned());
        self.unsaved.extend(taken.appends.iter().map(|append| append.item.clone()));
        self.unsaved_gone.extend(taken.gone.iter().cloned());
        if !self.watchers.is_empty() {
            let mut changes = Vec::with_capacity(taken.items.len() + taken.appends.len() + 4);
            let reducer = &self.fold.reducer;
            changes.extend(taken.gone.into_iter().map(|item| SessionChange::ItemGone { item }));
            changes.extend(taken.appends.into_iter().map(|append| SessionChange::Append {
                item: append.item,
                part: append.part,
                text: append.text,
            }));
            for id in &taken.items {
                if let Some(item) = reducer.transcript.get(id) {
                    changes.push(SessionChange::Item { item: Box::new(item.clone()) });
                }
            }
            for id in &taken.requests {
                if let Some(request) = reducer.requests.get(id) {
                    changes.push(SessionChange::Request { request: Box::new(request.clone()) });
                }
            }
            changes.extend(taken.requests_gone.into_iter().map(|request| SessionChange::RequestGone { request }));
            if header {
                changes.push(SessionChange::Header { header: Box::new(self.header()) });
            }
            self.send(changes);
        }
        self.publish_row(header).await
    }

    fn send(&self, changes: Vec<SessionChange>) {
        if changes.is_empty() {
            return;
        }
        let mut feeds = self.watchers.values().peekable();
        let mut changes = Some(changes);
        while let Some(feed) = feeds.next() {
            // The last window takes them; others get copies.
            let batch = if feeds.peek().is_some() { changes.clone() } else { changes.take() };
            feed.push(self.id, batch.unwrap_or_default());
        }
    }

    async fn publish_row(&mut self, header: bool) -> Result<(), StoreError> {
        let row = self.row();
        let (same, since) = match &self.last_row {
            Some(last) => (
                SessionRow { last_event_at: None, ..last.clone() } == SessionRow { last_event_at: None, ..row.clone() },
                row.last_event_at.unwrap_or(0) - last.last_event_at.unwrap_or(0),
            ),
            None => (false, 0),
        };
        // A row that differs only in its time follows once a second, and only while something comes.
        if same && !(header && since >= ROW_EVERY_MS) && !self.record_moved() {
            return Ok(());
        }
        self.last_row = Some(row.clone());
        self.record.title.clone_from(&row.title);
        self.record.agent.clone_from(&self.fold.reducer.agent);
        self.record.state = row.state.clone();
        self.record.waiting = row.waiting;
        self.record.waiting_kind = row.waiting_kind;
        self.record.activity.clone_from(&row.activity);
        self.record.last_event_at = row.last_event_at;
        self.record.ended = self.fold.reducer.closed;
        if self.saved_record != self.record {
            self.hub.store.put_session(self.record.clone()).await?;
            self.saved_record = self.record.clone();
        }
        if self.fold.reducer.closed == Some(contract::session::ClosedReason::Deleted) {
            self.hub.remove_row(self.id);
        } else {
            self.hub.put_row(row);
        }
        Ok(())
    }

    /// Whether something of the record changed that no row shows.
    fn record_moved(&self) -> bool {
        let (old, new) = (&self.saved_record, &self.record);
        old.synced_updated_at != new.synced_updated_at || old.updated_at != new.updated_at || old.ended != new.ended
    }

    /// A row of the connection log: kept, written and shown.
    pub(super) async fn log_connection(
        &mut self,
        what: ConnectionLogKind,
        detail: Option<String>,
    ) -> Result<(), StoreError> {
        let row = ConnectionLogRow {
            at: self.now(),
            what,
            cursor: self.cursor.as_ref().map(|cursor| cursor.0.clone()),
            detail,
        };
        self.hub.store.log_connection(self.id, vec![row.clone()]).await?;
        self.connection_rows.push(row.clone());
        let surplus = self.connection_rows.len().saturating_sub(CONNECTION_ROWS);
        self.connection_rows.drain(..surplus);
        self.send(vec![SessionChange::Connection { row }]);
        Ok(())
    }

    /// A row of the ledger is new or changed: shown.
    pub(super) async fn show_decision(&mut self, number: i64) -> Result<(), StoreError> {
        if self.watchers.is_empty() {
            return Ok(());
        }
        let rows = self.hub.store.decisions(Some(self.id), 20).await?;
        if let Some(row) = rows.into_iter().find(|row| row.number == number) {
            self.send(vec![SessionChange::Decision { row }]);
        }
        Ok(())
    }

    /// Brings the projections on disk up to the log.
    pub(super) async fn save(&mut self) -> Result<(), StoreError> {
        self.save_at = None;
        if self.unsaved.is_empty() && self.unsaved_gone.is_empty() && !self.save_all {
            return Ok(());
        }
        let transcript = &self.fold.reducer.transcript;
        let stored =
            |item: &contract::item::Item| StoredItem { item: item.clone(), search_text: transcript.search_text(item) };
        let all = std::mem::take(&mut self.save_all);
        let upserts = if all {
            transcript.iter().map(stored).collect()
        } else {
            self.unsaved.iter().filter_map(|id| transcript.get(id)).map(stored).collect()
        };
        self.unsaved.clear();
        let save = ItemsSave {
            replace_all: all,
            upserts,
            gone: std::mem::take(&mut self.unsaved_gone),
            through_seq: self.log_seq,
            requests: self.fold.reducer.requests.iter().cloned().collect(),
            usage: self.fold.reducer.turn.session_usage.clone(),
        };
        self.hub.store.save_items(self.id, save).await
    }
}
