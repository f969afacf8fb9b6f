//! The time a run takes, and where tests stop it.

use std::time::Duration;

use super::Player;
use crate::{Pace, runs::desk::Desk};

impl Player {
    /// Takes the script's time, and stops where a test holds the session.
    pub(in crate::runs) async fn pause(&self, ms: u64) {
        match self.world.pace {
            Pace::Real => tokio::time::sleep(Duration::from_millis(ms)).await,
            Pace::Fast => tokio::task::yield_now().await,
        }
        let held = |desk: &Desk| desk.session(&self.session).is_some_and(|session| session.gate.held);
        if !self.world.runs.look(held) {
            return;
        }
        loop {
            let mut pulse = self.world.runs.pulse();
            let passes = self.world.runs.change(|desk| {
                let Some(session) = desk.session_mut(&self.session) else { return true };
                let gate = &mut session.gate;
                let passes = !gate.held || gate.permits > 0;
                gate.permits = if passes { gate.permits.saturating_sub(1) } else { 0 };
                gate.waiting = !passes;
                passes
            });
            if passes {
                return;
            }
            pulse.mark_unchanged();
            let stuck = |desk: &Desk| {
                desk.session(&self.session).is_some_and(|session| session.gate.held && session.gate.permits == 0)
            };
            if self.world.runs.look(stuck) && pulse.changed().await.is_err() {
                return;
            }
        }
    }

    pub(super) async fn gate(&self, name: &str) {
        let waiting = |waits: bool| {
            self.world.runs.change(|desk| {
                if let Some(session) = desk.session_mut(&self.session) {
                    session.gate.waiting = waits;
                }
            });
        };
        waiting(true);
        let opened = |desk: &Desk| desk.session(&self.session)?.gate.open.contains(name).then_some(());
        self.world.runs.until(opened).await;
        waiting(false);
    }
}
