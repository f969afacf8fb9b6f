//! The time a turn takes, and where tests stop it.

use std::time::Duration;

use super::desk::Desk;
use crate::{Pace, session::Gate, world::World};

fn gate<'a>(desk: &'a mut Desk, session: &str) -> Option<&'a mut Gate> {
    desk.session_mut(session).map(|session| &mut session.gate)
}

/// Takes the script's time, and stops where a test holds the session.
pub(super) async fn pause(world: &World, session: &str, ms: u64) {
    match world.pace {
        Pace::Real => tokio::time::sleep(Duration::from_millis(ms)).await,
        Pace::Fast => tokio::task::yield_now().await,
    }
    let held = |desk: &Desk| desk.session(session).is_some_and(|session| session.gate.held);
    if !world.turns.look(held) {
        return;
    }
    loop {
        let mut pulse = world.turns.pulse();
        let passes = world.turns.change(|desk| {
            let Some(gate) = gate(desk, session) else { return true };
            let passes = !gate.held || gate.permits > 0;
            gate.permits = if passes { gate.permits.saturating_sub(1) } else { 0 };
            gate.waiting = !passes;
            passes
        });
        if passes {
            return;
        }
        pulse.mark_unchanged();
        let stuck =
            |desk: &Desk| desk.session(session).is_some_and(|session| session.gate.held && session.gate.permits == 0);
        if world.turns.look(stuck) && pulse.changed().await.is_err() {
            return;
        }
    }
}

/// Waits until control opens the gate of this name.
pub(super) async fn at_gate(world: &World, session: &str, name: &str) {
    let waiting = |waits: bool| {
        world.turns.change(|desk| {
            if let Some(gate) = gate(desk, session) {
                gate.waiting = waits;
            }
        });
    };
    waiting(true);
    let opened = |desk: &Desk| match desk.session(session) {
        Some(session) => session.gate.open.contains(name).then_some(()),
        None => Some(()),
    };
    world.turns.until(opened).await;
    waiting(false);
}
