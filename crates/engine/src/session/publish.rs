//! What the windows and the record are told of a session.

use std::collections::HashSet;

use contract::{
    connection::{ConnectionLogKind, ConnectionLogRow},
    item::{Item, ItemBody, Part, Role},
    patch::SessionChange,
    session::{ClosedReason, ContextMeter, SessionHeader, SessionRow},
};
use store::{ItemsSave, StoreError, StoredItem};
use tokio::time::{Duration, Instant};

use super::{commands::SNAPSHOT_ITEMS, task::SessionTask, unasked::unasked_mark};
use crate::server::facts;

/// How long changed items may wait before the projections on disk follow.
const SAVE_AFTER: Duration = Duration::from_millis(1_500);

/// Items written in one transaction: a few milliseconds, for decisions wait behind it.
const SAVE_ITEMS: usize = 500;

/// After a part was written, the next waits this many times as long as it took.
const SAVE_REST: u32 = 3;

/// While frames stream in, the projections wait for them, but not longer than this.
const SAVE_AT_LATEST: Duration = Duration::from_secs(20);

/// What only moves bars and numbers of a header leaves this often at most.
const HEADER_EVERY: Duration = Duration::from_millis(100);

/// More changed items than this are not worth sending: the window takes a snapshot, which holds fewer.
const BURST: usize = 2 * SNAPSHOT_ITEMS;

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
            title: reducer.title.clone().or_else(|| self.title_here()),
            state: reducer.state.clone(),
            waiting: u32::try_from(reducer.requests.open().count()).unwrap_or(u32::MAX),
            waiting_kind: oldest.map(|request| request.kind),
            activity: reducer.activity.clone(),
            last_event_at: reducer.last_event_at.or(self.record.last_event_at),
            created_at: self.record.created_at,
            archived: self.record.archived,
            live: self.stream.is_open(),
            unasked: unasked_mark(reducer.run.options.as_ref(), Some(&self.run_options), self.now()),
        }
    }

    /// The title of a session whose server has none, until it is renamed: the first words of its first message.
    fn title_here(&self) -> Option<String> {
        if !self.hub.server(&self.record.server)?.capabilities.titles_here {
            return None;
        }
        self.fold.reducer.transcript.iter().find_map(|item| match &item.body {
            ItemBody::Message(said) if said.role == Role::User => said.parts.iter().find_map(|part| match part {
                Part::Text(text) => first_words(&text.text),
                _ => None,
            }),
            _ => None,
        })
    }

    /// How full the context is: what events leave out of its room is known of the model.
    pub(super) fn context(&self) -> Option<ContextMeter> {
        let mut meter = self.fold.reducer.run.context.clone()?;
        if meter.window.is_none() {
            meter.window = self.hub.server(&self.record.server).and_then(|server| facts::window(&server.facts));
        }
        Some(meter)
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
            loading_history: self.history.is_loading() || self.beside.is_loading(),
            turn: reducer.turn.turn.clone(),
            usage: reducer.turn.whole_usage(),
            queued: self.queue(),
            goals: reducer.goals.clone(),
            threads: reducer.threads.clone(),
            resumable: reducer.run.resumable.clone(),
            foreign_run: reducer.run.foreign,
            context: self.context(),
            run_options: self
                .link
                .as_ref()
                .is_some_and(|link| link.protocol.capabilities().run_options)
                .then(|| self.run_options.clone()),
            running_options: reducer.run.options.clone(),
            setup: self.setup_now().cloned(),
            offer: reducer.run.offer.clone(),
            incomplete_history: reducer.run.incomplete_history,
        }
    }

    /// Sends what changed to the windows and the lists, and notes what the record must follow.
    pub(super) async fn publish(&mut self, header: bool) -> Result<(), StoreError> {
        let taken = self.fold.reducer.take_changes();
        self.watchers.retain(|_, feed| !feed.is_closed());
        let now = Instant::now();
        if taken.header_soon || taken.header || header {
            self.header_at.get_or_insert_with(|| self.header_sent.map_or(now, |sent| sent + HEADER_EVERY));
        }
        let header = header || taken.header || self.header_at.is_some_and(|at| at <= now);
        if header {
            self.header_at = None;
            self.header_sent = Some(now);
        }
        if !taken.items.is_empty() || !taken.appends.is_empty() || !taken.gone.is_empty() || !taken.requests.is_empty()
        {
            self.save_at.get_or_insert_with(|| now + SAVE_AFTER);
            self.unsaved_since.get_or_insert(now);
        }
        self.unsaved_gone.extend(taken.gone.iter().cloned());
        for append in &taken.appends {
            // A text that is being written comes again and again.
            if self.unsaved.last() != Some(&append.item) {
                self.unsaved.push(append.item.clone());
            }
        }
        let follow = self.watchers.values().any(|feed| feed.follows(self.id));
        let mut changes = Vec::new();
        if follow && (taken.reset || taken.items.len() > BURST) {
            changes.push(SessionChange::Reset);
        } else if follow {
            changes.reserve(taken.items.len() + taken.appends.len() + 4);
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
        }
        self.unsaved.extend(taken.items);
        self.send(changes);
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
        let leaves = self.record.archived
            || matches!(self.fold.reducer.closed, Some(ClosedReason::Deleted | ClosedReason::ServerRemoved));
        if leaves {
            // The lists have no row for it; the history has it.
            self.hub.remove_row(self.id);
        }
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
        // That its server was removed is the server's fact, not the session's: the practice server may come back.
        self.record.ended = self.fold.reducer.closed.filter(|closed| *closed != ClosedReason::ServerRemoved);
        if self.saved_record != self.record {
            self.hub.store.put_session(self.record.clone()).await?;
            self.saved_record = self.record.clone();
        }
        if !leaves {
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
        let rows = self.hub.store.decisions(Some(self.id), 1_000).await?;
        if let Some(row) = rows.into_iter().find(|row| row.number == number) {
            self.send(vec![SessionChange::Decision { row }]);
        }
        Ok(())
    }

    /// Brings the projections on disk up to the log, a part at a time.
    pub(super) async fn save_some(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        self.save_at = None;
        if let Some(busy) = self.hub.busy_for()
            && self.unsaved_since.is_some_and(|since| now < since + SAVE_AT_LATEST)
        {
            self.save_at = Some(now + busy);
            return Ok(());
        }
        if !self.save_part().await? {
            self.save_at = Some(Instant::now() + now.elapsed() * SAVE_REST);
        }
        Ok(())
    }

    /// Brings the projections on disk up to the log.
    pub(super) async fn save(&mut self) -> Result<(), StoreError> {
        while !self.save_part().await? {}
        Ok(())
    }

    /// Writes at most [`SAVE_ITEMS`] items; the last part says how far the log is followed. True where it was that.
    async fn save_part(&mut self) -> Result<bool, StoreError> {
        if std::mem::take(&mut self.save_all) {
            let transcript = &self.fold.reducer.transcript;
            let saved = self.hub.store.item_ids(self.id).await?;
            self.unsaved_gone.extend(saved.into_iter().filter(|id| transcript.get(id).is_none()));
            self.unsaved.extend(transcript.iter().map(|item| item.id.clone()));
            // Requests and usage follow with the last part, even where there are no items.
        } else if self.unsaved.is_empty() && self.unsaved_gone.is_empty() {
            return Ok(true);
        }
        let transcript = &self.fold.reducer.transcript;
        let rest = self.unsaved.len().saturating_sub(SAVE_ITEMS);
        let part: HashSet<_> = self.unsaved.drain(rest..).collect();
        let stored = |item: &Item| StoredItem { item: item.clone(), search_text: transcript.search_text(item) };
        let upserts: Vec<_> = part.iter().filter_map(|id| transcript.get(id)).map(stored).collect();
        let keep = self.unsaved_gone.len().saturating_sub(SAVE_ITEMS);
        let gone: Vec<_> = self.unsaved_gone.split_off(keep);
        let gone: Vec<_> = gone.into_iter().filter(|id| transcript.get(id).is_none()).collect();
        if !self.unsaved.is_empty() || !self.unsaved_gone.is_empty() {
            self.hub.store.save_part(self.id, upserts, gone).await?;
            return Ok(false);
        }
        self.unsaved_since = None;
        let save = ItemsSave {
            replace_all: false,
            upserts,
            gone,
            through_seq: self.log_seq,
            requests: self.fold.reducer.requests.iter().cloned().collect(),
            usage: self.fold.reducer.turn.session_usage.clone(),
        };
        self.hub.store.save_items(self.id, save).await?;
        Ok(true)
    }
}

/// Characters of a title made from a message.
const TITLE_CHARS: usize = 60;

fn first_words(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut title: String = line.chars().take(TITLE_CHARS).collect();
    if line.chars().nth(TITLE_CHARS).is_some() {
        title.push('…');
    }
    Some(title)
}
