//! The streams of this side: the answer of a v3 turn, and v4's event stream, which any number may follow.

use std::sync::Arc;

use axum::response::Response;
use tokio::sync::mpsc;

use super::log::Mode;
use crate::{
    runs::stream::{self, Item, Opening},
    world::World,
};

/// An event of any size that no list knows.
fn oversized(text: &str) -> String {
    format!("event: practice_padding\ndata: {{\"text\":\"{text}\"}}\n\n")
}

/// The answer of a turn.
pub(super) fn turn(world: &Arc<World>, session: &str, mode: Mode, frames: mpsc::UnboundedReceiver<Item>) -> Response {
    let mode = Some(mode.word().to_owned());
    stream::open(world, session, frames, Opening { ends: None, mode, oversized })
}

/// What a session tells from now on, behind what did not join its history yet. `None` = there is no such session.
pub(super) fn events(world: &Arc<World>, session: &str, mode: Mode) -> Option<Response> {
    let (out, frames) = mpsc::unbounded_channel();
    // One look: nothing falls between what is repeated and what is new.
    let (replay, from) = world.turns.look(|desk| {
        let session = desk.session(session)?;
        Some((session.log.replay(mode), session.log.len()))
    })?;
    for frame in replay {
        // The receiver is still here.
        let _ = out.send(Item::Frame(frame));
    }
    let follower = follow(Arc::clone(world), session.to_owned(), mode, from, out);
    world.players.spawn(follower);
    let opening = Opening { ends: None, mode: Some(mode.word().to_owned()), oversized };
    Some(stream::open(world, session, frames, opening))
}

/// Passes on what happens until the session is idle or gone, the reader leaves, or the server ends.
async fn follow(world: Arc<World>, session: String, mode: Mode, mut from: usize, out: mpsc::UnboundedSender<Item>) {
    loop {
        let next = world.turns.until(|desk| match desk.session(&session) {
            None => Some((Vec::new(), true, from)),
            Some(found) if found.log.len() > from => {
                let (frames, over) = found.log.since(from, mode);
                Some((frames, over, found.log.len()))
            }
            Some(_) => None,
        });
        let (frames, over, upto) = tokio::select! {
            () = world.stop.cancelled() => return,
            () = out.closed() => return,
            next = next => next,
        };
        from = upto;
        for frame in frames {
            if out.send(Item::Frame(frame)).is_err() {
                return;
            }
        }
        if over {
            return;
        }
    }
}
