//! A session made from what is kept of it: its record, its log, its projections.

use std::collections::{HashMap, HashSet};

use contract::session::{ClosedReason, SessionId, SessionState};
use store::{SessionRecord, StoreError};
use tokio::{sync::mpsc, time::Instant};

use super::{
    beside::Beside,
    deliver::InFlight,
    history::History,
    reduce::Reducer,
    replay::Fold,
    stream::Stream,
    task::{News, SessionTask, Start},
    timers::FALLBACK_AFTER,
};
use crate::request::card::Owner;

impl SessionTask {
    pub(super) async fn load(start: Start, news: mpsc::Sender<News>) -> Result<Self, StoreError> {
        let Start { id, record, server_name, hub, link, codec, .. } = start;
        // Of a crash of the app, or of this session's task alone.
        let pending = hub.store.unsettled_decisions().await?.into_iter().filter(|left| left.session == id);
        let cursor = hub.store.cursor(id).await?;
        let bounds = hub.store.position_bounds(id).await?;
        let (lowest, highest) = bounds.unwrap_or((0, -1));
        let outbox = hub.store.outbox(Some(id)).await?;
        let kept = hub.kept.of(&record.server);
        let rows = hub.store.connection_log(id, 50).await?;
        let fold = Fold::new(codec(), Reducer::new(owner(id, &record, &server_name), HashMap::new()));
        let in_flight = pending.map(|left| (left.request.clone(), InFlight::after_crash(left))).collect();
        let record_was_read = record.synced_updated_at.is_some();
        let run_options = record.run_options.clone().unwrap_or_default();
        let mut task = Self {
            id,
            hub,
            link,
            make_codec: codec,
            fold,
            watchers: HashMap::new(),
            news,
            stream: Stream::default(),
            history: History::new(record_was_read),
            saved_record: record.clone(),
            record,
            cursor,
            position: highest + 1,
            lowest,
            log_seq: 0,
            outbox,
            in_flight,
            uncertain: HashMap::new(),
            beside: Beside::new(record_was_read),
            steered: HashSet::new(),
            stop_by: None,
            turned_away: None,
            unsaved: Vec::new(),
            unsaved_gone: Vec::new(),
            save_all: false,
            save_at: None,
            unsaved_since: None,
            header_sent: None,
            header_at: None,
            connection_rows: rows.into_iter().rev().collect(),
            last_row: None,
            fallback_at: None,
            retry_at: None,
            idle_since: None,
            run_options,
            server_name,
            kept,
            counting: false,
        };
        task.fold.reducer.requests.answers_tell = task.has_turn_streams();
        task.lapse_unasked().await?;
        task.replay(true).await?;
        task.take_up_answers();
        task.drop_arrived().await?;
        if task.has_turn_streams() {
            task.find_open_turn().await?;
        }
        if task.hub.store.projection(id).await?.is_some_and(|mark| mark.is_current()) {
            task.save_all = false;
        }
        Ok(task)
    }

    /// Makes everything again from the log.
    pub(super) async fn rebuild(&mut self) -> Result<(), StoreError> {
        self.replay(false).await
    }

    pub(super) async fn replay(&mut self, first: bool) -> Result<(), StoreError> {
        let ours = self.our_decisions().await?;
        let reducer = Reducer::new(owner(self.id, &self.record, &self.server_name), ours);
        let mut fold = Fold::new((self.make_codec)(), reducer);
        self.log_seq = fold.replay(self.hub.store.frames(self.id)).await?;
        fold.reducer.requests.answers_tell = self.fold.reducer.requests.answers_tell;
        if !first {
            fold.reducer.stop = self.fold.reducer.stop;
        }
        // What replay asks for was asked for when the frames were new.
        let effects = fold.reducer.take_effects();
        fold.reducer.take_changes();
        let before = std::mem::replace(&mut self.fold, fold);
        self.carry_record();
        self.record_elsewhere(effects.elsewhere).await?;
        self.show_outbox(&before.reducer.transcript);
        self.fallback_at =
            (!self.fold.reducer.requests.unexplained().is_empty()).then(|| Instant::now() + FALLBACK_AFTER);
        self.save_all = true;
        self.save_at.get_or_insert_with(Instant::now);
        for feed in self.watchers.values() {
            feed.push(self.id, vec![contract::patch::SessionChange::Reset]);
        }
        Ok(())
    }

    /// What the record knows and the log may not say.
    pub(super) fn carry_record(&mut self) {
        let reducer = &mut self.fold.reducer;
        reducer.title = reducer.title.take().or_else(|| self.record.title.clone());
        reducer.agent = reducer.agent.take().or_else(|| self.record.agent.clone());
        reducer.closed = reducer.closed.or(self.record.ended);
        if reducer.state == SessionState::Unknown {
            reducer.state = self.record.state.clone();
        }
        if self.record.archived {
            reducer.closed.get_or_insert(ClosedReason::Archived);
        }
    }
}

fn owner(id: SessionId, record: &SessionRecord, server_name: &str) -> Owner {
    Owner {
        session: id,
        remote_session: record.remote_id.clone(),
        server: record.server.clone(),
        server_name: server_name.to_owned(),
    }
}
