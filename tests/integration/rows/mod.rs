//! The behaviour rows that can be shown without a window. Each test is named after its row.

mod changed;
mod chinese;
mod elsewhere;
mod flood;
mod keyring;
mod listening;
mod lists;
mod once;
mod pending;
mod probe;
mod queue;
mod reconnect;
mod record;
mod room;
mod secrets;
mod servers;
mod stop;
mod windows;

use std::time::Duration;

use anyhow::Result;
use contract::{
    connection::{ConnectionLogKind, ConnectionState},
    request::{Fate, Request},
};
use tests::{
    rig::{Dialect, Rig, decision},
    view::View,
};

/// How often the stream of this session was opened, as its connection log says.
fn connects(view: &View) -> usize {
    view.log.iter().filter(|row| row.what == ConnectionLogKind::Connected).count()
}

fn is_live(view: &View) -> bool {
    matches!(view.header.connection, ConnectionState::Live { .. })
}

/// A rig whose only session waits for an approval.
async fn waiting_rig(dialect: Dialect) -> Result<(Rig, String, View, Request)> {
    let rig = Rig::start(dialect).await?;
    let (remote, view, request) = waiting_session(&rig).await?;
    Ok((rig, remote, view, request))
}

/// A session that waits for an approval.
async fn waiting_session(rig: &Rig) -> Result<(String, View, Request)> {
    let (remote, mut view) = rig.play("approval", &[]).await?;
    view.until("an open request on a live stream", |view| view.open_requests().len() == 1 && is_live(view)).await?;
    // Lines of the log follow behind what waits.
    view.until("the line of the connect", |view| connects(view) > 0).await?;
    let request = view.open_requests()[0].clone();
    Ok((remote, view, request))
}

/// Allows a request and waits until the server has it, exactly once.
async fn allow(rig: &Rig, view: &mut View, request: &Request) -> Result<()> {
    rig.engine.decide(decision(request, "allow_once")).await?;
    view.until("the server's yes to the decision", |view| {
        view.decisions.values().any(|row| row.request == request.id && row.fate == Fate::Accepted)
    })
    .await?;
    assert_eq!(carried_out(rig, &request.id), 1);
    Ok(())
}

/// How many decisions on this request changed something at the server.
fn carried_out(rig: &Rig, request: &str) -> usize {
    let seen = rig.control.counters();
    let counted = |decision: &&practice::DecisionSeen| {
        decision.request == request && (200..300).contains(&decision.status) && !decision.repeated
    };
    seen.decisions.iter().filter(counted).count()
}

/// Lets so much time pass at once for everything in this (single-threaded) runtime.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}
