//! Rows of sessions that no task follows, from what the record keeps of them.

use contract::session::{ClosedReason, SessionId, SessionRow};
use store::SessionRecord;

/// The row of a session.
#[must_use]
pub fn row_of(id: SessionId, record: &SessionRecord) -> SessionRow {
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
    }
}

/// Whether a session has a row in the sidebar; the history has all.
#[must_use]
pub fn belongs_in_lists(record: &SessionRecord) -> bool {
    !record.archived && record.ended != Some(ClosedReason::Deleted)
}
