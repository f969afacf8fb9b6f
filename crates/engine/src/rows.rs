//! Rows of sessions that no task follows, from what the record keeps of them.

use contract::{
    Millis,
    session::{ClosedReason, SessionId, SessionRow},
};
use store::SessionRecord;

use crate::session::unasked_mark;

/// The row of a session at this time.
#[must_use]
pub fn row_of(id: SessionId, record: &SessionRecord, now: Millis) -> SessionRow {
    SessionRow {
        id,
        server: record.server.clone(),
        remote_id: record.remote_id.clone(),
        title: record.title.clone(),
        state: record.state.clone(),
        waiting: record.waiting,
        waiting_kind: record.waiting_kind,
        activity: record.activity.clone(),
        last_event_at: record.last_event_at,
        created_at: record.created_at,
        archived: record.archived,
        live: false,
        unasked: unasked_mark(None, record.run_options.as_ref(), now),
    }
}

/// Whether a session has a row in the sidebar; the history has all.
#[must_use]
pub fn belongs_in_lists(record: &SessionRecord) -> bool {
    !record.archived && record.ended != Some(ClosedReason::Deleted)
}
