//! `GET /sessions/{id}/history` in its three ages (§2.4, §3 and §4).

use std::sync::Arc;

use super::{Refused, Reply, json_answer, sessions::found};
use crate::{
    http::{Pairs, first},
    turns::{desk::Desk, history, shape::Message},
    world::World,
};
use axum::extract::{Path, Query, State};

/// A part of a session's history.
pub(super) async fn history(
    State(world): State<Arc<World>>,
    Path(id): Path<String>,
    Query(pairs): Query<Pairs>,
) -> Reply {
    world.count(|counters| counters.lists += 1);
    world.turns.look(|desk| if desk.manner.is_v4() { tail(desk, &id, &pairs) } else { typed(desk, &id, &pairs) })
}

/// v4: pages, newest first.
fn tail(desk: &Desk, id: &str, pairs: &Pairs) -> Reply {
    let session = found(desk, id)?;
    if !desk.manner.tail {
        return Err(Refused::new(404, "History not supported"));
    }
    let before = first(pairs, "before").filter(|cursor| !cursor.is_empty());
    let page = history::page(&session.history, before, desk.manner.history_page);
    Ok(json_answer(&page.ok_or_else(|| Refused::new(400, "Unknown cursor"))?))
}

fn number(pairs: &Pairs, name: &str) -> Result<Option<i64>, Refused> {
    let number = first(pairs, name).map(str::parse::<i64>).transpose();
    number.map_err(|_| Refused::new(400, format!("{name}: an integer")))
}

/// v3: full or compacted; in the draft a range of it.
fn typed(desk: &Desk, id: &str, pairs: &Pairs) -> Reply {
    let kind = first(pairs, "type").filter(|kind| matches!(*kind, "full" | "compacted"));
    let session = found(desk, id)?;
    let kind = kind.ok_or_else(|| Refused::new(400, "type must be full or compacted"))?;
    let (offered, mut messages): (bool, Vec<Message>) = match kind {
        "full" => (desk.manner.full, history::full(&session.history)),
        _ => (desk.manner.compacted, history::compacted(&session.history)),
    };
    if !offered {
        return Err(Refused::new(404, format!("History type not supported: {kind}")));
    }
    let mut range = None;
    if desk.manner.is_revised() {
        let asked = history::range(messages.len(), number(pairs, "start")?, number(pairs, "end")?);
        let asked = asked.ok_or_else(|| Refused::new(400, "Invalid range"))?;
        messages = messages.into_iter().take(asked.end).skip(asked.start).collect();
        range = Some(asked);
    }
    Ok(json_answer(&Typed { history: [(kind.to_owned(), messages)].into(), range }))
}

#[derive(serde::Serialize)]
struct Typed {
    history: std::collections::BTreeMap<String, Vec<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<history::Range>,
}
