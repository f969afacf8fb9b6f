//! Room on disk: when what is kept of a server reaches its cap, nothing more is read from it until there is room again,
//! and that is said. Nothing is lost: the cursor stays where it is, and reading goes on from there.

use contract::connection::{ConnectionLogKind, ConnectionState};
use store::StoreError;

use super::task::{News, SessionTask};

impl SessionTask {
    /// Whether what is kept of this server has reached its cap.
    pub(super) fn is_full(&self) -> bool {
        self.link.as_ref().is_some_and(|link| self.kept.bytes() >= link.disk_cap)
    }

    /// Whether the stream can be left and taken up again. One that is the answer to what began a turn is read to its end,
    /// for leaving it would stop or lose the work.
    pub(super) fn can_wait(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.protocol.capabilities().reattach)
    }

    /// Whether it is known how much is kept; where not, it is being counted and told.
    pub(super) fn knows_room(&mut self) -> bool {
        if self.kept.is_counted() {
            return true;
        }
        if !std::mem::replace(&mut self.counting, true) {
            let (kept, store, server) = (self.kept.clone(), self.hub.store.clone(), self.record.server.clone());
            let news = self.news.clone();
            tokio::spawn(async move {
                kept.count(&store, &server).await;
                // The session's task may have ended.
                let _ = news.send(News::Counted).await;
            });
        }
        false
    }

    /// Whether a history may be read: where there is no room, only to learn what became of something of ours.
    pub(super) fn may_read(&self) -> bool {
        !self.is_full() || !self.in_flight.is_empty() || !self.uncertain.is_empty()
    }

    /// Stops reading, and says why.
    pub(super) async fn stop_for_room(&mut self) -> Result<(), StoreError> {
        tracing::warn!(session_id = self.id.0, bytes = self.kept.bytes(), "what is kept of the server is at its cap");
        // What was received and not committed comes again after the cursor.
        self.stream.forget_held();
        self.stream.close();
        self.stream.refused = true;
        if self.stream.state != ConnectionState::Full {
            self.stream.state = ConnectionState::Full;
            self.log_connection(ConnectionLogKind::ClosedHere, None).await?;
        }
        if let Some(link) = &self.link {
            link.say_full();
        }
        self.fold.reducer.touch_header();
        self.publish(true).await
    }
}
