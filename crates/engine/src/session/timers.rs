//! What a session does when its time has come.

use std::time::Duration;

use store::StoreError;
use tokio::time::Instant;

use super::{local::LocalRecord, task::SessionTask};

/// How long an idle stream that nobody looks at is kept.
const LINGER: Duration = Duration::from_secs(20);

/// How long a waiting session may stand without a card before a fallback card is made (P-18).
pub(super) const FALLBACK_AFTER: Duration = Duration::from_secs(2);

impl SessionTask {
    pub(super) fn next_wake(&self) -> Option<Instant> {
        let idle = self.idle_since.map(|since| since + LINGER);
        [self.save_at, self.header_at, self.fallback_at, self.retry_at, self.stream.hold_until, idle]
            .into_iter()
            .chain([self.beside.at, self.stop_by, self.expiry_due(), self.unasked_ends()])
            .flatten()
            .chain(self.in_flight.values().filter_map(|flight| flight.retry_at))
            .min()
    }

    pub(super) async fn timers(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        if self.save_at.is_some_and(|at| at <= now) {
            self.save_some().await?;
        }
        if self.fallback_at.is_some_and(|at| at <= now) {
            self.fallback_at = None;
            self.fallbacks().await?;
        }
        if self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            self.read_history();
        }
        self.retry_deliveries(now);
        self.send_gathered().await?;
        if self.stop_by.is_some_and(|at| at <= now) {
            self.stop_overdue().await?;
        }
        self.lapse_unasked().await?;
        self.look_at_expired();
        if self.beside.at.is_some_and(|at| at <= now) {
            self.look_again();
        }
        if self.stream.hold_until.is_some_and(|until| until <= now) {
            self.drain_held().await?;
        }
        if self.idle_since.is_some_and(|since| since + LINGER <= now) {
            self.idle_since = None;
            if !self.wants_stream() {
                self.close_stream().await?;
            }
        }
        self.publish(false).await
    }

    /// A waiting session with no card gets a fallback card, and is read again (P-18).
    pub(super) async fn fallbacks(&mut self) -> Result<(), StoreError> {
        let made = self.fold.reducer.make_fallbacks(self.hub.now());
        if !made.is_empty() {
            tracing::warn!(
                session_id = self.id.0,
                requests = made.len(),
                "the server waits for what no event explained"
            );
            self.take_local(&LocalRecord::FallbackCards { requests: made }, None).await?;
            self.read_history();
        }
        Ok(())
    }
}
