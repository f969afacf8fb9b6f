//! The server itself: health, settings, usage, mentions, and the small endpoints around them (§3).

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use bytes::Bytes;
use serde::Serialize;
use serde_json::json as object;

use super::{
    Refused, Reply, json,
    schema::{self, Fields},
    sessions::current_of,
};
use crate::{
    http::{Pairs, first},
    runs::{
        Permission,
        desk::Desk,
        shape::{Health, Settings},
    },
    world::World,
};

/// The folder the agent pretends to work in.
const WORKSPACE: &str = "/home/dev/project";

/// `GET /health`: without a token, and before there is a model.
pub(super) async fn health(State(world): State<Arc<World>>) -> Reply {
    let health = world.runs.look(|desk| Health {
        status: "ok",
        version: desk.manner.version(),
        workspace: WORKSPACE,
        ready: desk.model.is_some(),
        session: desk.model.is_some().then(|| desk.current.clone()),
        models: desk.models.len(),
        busy: desk.is_busy(),
    });
    Ok(json(&health))
}

fn settings_of(desk: &Desk) -> Result<Settings, Refused> {
    let model = desk.active_model().ok_or_else(Refused::no_model)?;
    Ok(Settings {
        model: model.clone(),
        effort: desk.effort.clone(),
        efforts: model.efforts.clone(),
        permission: desk.permission,
        permissions: Permission::ALL.iter().map(|(name, _)| *name).collect(),
        harness: desk.harness,
        unsaved: None,
    })
}

/// `GET /settings`.
pub(super) async fn settings(State(world): State<Arc<World>>) -> Reply {
    world.runs.look(|desk| Ok(json(&settings_of(desk)?)))
}

/// `PATCH /settings`: for the prompts that follow.
pub(super) async fn change_settings(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let mut fields = Fields::of(&body, false)?;
    let (model, effort) = (fields.text_or_null("model"), fields.text_or_null("effort"));
    let permission = fields.text_or_null("permission").and_then(|word| {
        let level = Permission::of(&word);
        if level.is_none() {
            fields.refuse("permission", "Input should be 'deny', 'ask', 'safe', 'full' or 'auto'");
        }
        level
    });
    let harness = fields.strict_bool("harness", false);
    let percent = fields.seconds("compact_percent", Some(100.0), true).map(|percent| percent.as_secs_f64());
    fields.done()?;
    if model.is_none() && effort.is_none() && permission.is_none() && harness.is_none() && percent.is_none() {
        return Err(Refused::invalid("Name at least one of model, effort, permission, harness or compact_percent"));
    }
    world.runs.change(|desk| {
        schema::ready(desk)?;
        if let Some(name) = model {
            use_model(desk, &name)?;
        }
        if let Some(effort) = effort {
            use_effort(desk, effort)?;
        }
        desk.permission = permission.unwrap_or(desk.permission);
        desk.harness = harness.unwrap_or(desk.harness);
        if let Some(percent) = percent {
            if desk.is_busy() {
                return Err(Refused::busy("A run is in progress; move the compaction point when it ends"));
            }
            for model in desk.models.iter_mut().filter(|model| model.active) {
                model.compact_percent = percent;
            }
        }
        Ok(json(&settings_of(desk)?))
    })
}

/// The model of this name is used from now on.
pub(super) fn use_model(desk: &mut Desk, name: &str) -> Result<(), Refused> {
    if !desk.models.iter().any(|model| model.name == name) {
        let known: Vec<&str> = desk.models.iter().map(|model| model.name.as_str()).collect();
        return Err(Refused::invalid(format!("Unknown model: {name}. Configured: {}", known.join(", "))));
    }
    for model in &mut desk.models {
        model.active = model.name == name;
    }
    desk.model = Some(name.to_owned());
    Ok(())
}

fn use_effort(desk: &mut Desk, effort: String) -> Result<(), Refused> {
    let known = desk.active_model().map(|model| model.efforts.clone()).unwrap_or_default();
    if !known.contains(&effort) {
        let known = known.join(", ");
        return Err(Refused::invalid(format!("Unknown reasoning effort: {effort}. Try one of: {known}")));
    }
    desk.effort = effort;
    Ok(())
}

/// `GET /usage`: of the current session.
pub(super) async fn usage(State(world): State<Arc<World>>) -> Reply {
    world.runs.look(|desk| Ok(json(&current_of(desk)?.usage)))
}

/// `GET /usage/ledger`: of the workspace.
pub(super) async fn ledger(State(world): State<Arc<World>>) -> Reply {
    world.runs.look(|desk| {
        schema::ready(desk)?;
        let tokens = |requests: u64, input: u64, output: u64| {
            object!({"requests": requests, "input_tokens": input, "output_tokens": output, "cache_read_tokens": 0,
                     "reasoning_tokens": 0, "total_tokens": input + output, "cache_share": null})
        };
        let (mut rows, mut all) = (Vec::new(), (0, 0, 0));
        for session in desk.sessions.iter().filter(|session| session.updated_at.is_some()) {
            let spent = &session.usage;
            all = (all.0 + spent.requests, all.1 + spent.input_tokens, all.2 + spent.output_tokens);
            rows.push(object!({"id": session.id, "title": session.title, "started": session.created_at,
                               "updated": session.updated_at, "models": ["practice-1"],
                               "tokens": tokens(spent.requests, spent.input_tokens, spent.output_tokens),
                               "entries": session.messages.len()}));
        }
        let total = tokens(all.0, all.1, all.2);
        let models = object!([{"model": "practice-1", "tokens": total}]);
        Ok(json(&object!({"sessions": rows, "models": models, "days": [], "total": total})))
    })
}

#[derive(Serialize)]
struct Mention {
    token: &'static str,
    kind: &'static str,
    name: &'static str,
    description: &'static str,
}

const MENTIONS: [Mention; 6] = [
    Mention { token: "@src/users.py", kind: "file", name: "src/users.py", description: "1.4 kB" },
    Mention { token: "@src/handlers.py", kind: "file", name: "src/handlers.py", description: "2.1 kB" },
    Mention { token: "@tests/test_users.py", kind: "file", name: "tests/test_users.py", description: "3.0 kB" },
    Mention { token: "@docs/", kind: "folder", name: "docs/", description: "4 files" },
    Mention { token: "@docs/使用说明.md", kind: "file", name: "docs/使用说明.md", description: "8.2 kB" },
    Mention {
        token: "@skill:review",
        kind: "skill",
        name: "review",
        description: "Reads a change and says what it thinks",
    },
];

/// `GET /mentions?query=&limit=`: what an `@` can stand for.
pub(super) async fn mentions(State(world): State<Arc<World>>, Query(pairs): Query<Pairs>) -> Reply {
    let limit = schema::bounded(&pairs, "limit", 50)?;
    world.runs.look(schema::ready)?;
    let query = first(&pairs, "query").unwrap_or_default().to_lowercase();
    let found = MENTIONS.iter().filter(|mention| mention.token.to_lowercase().contains(&query));
    let found: Vec<&Mention> = found.take(limit).collect();
    Ok(json(&object!({"mentions": object_list(&found)})))
}

fn object_list(found: &[&Mention]) -> serde_json::Value {
    serde_json::to_value(found).unwrap_or_default()
}

/// A steer message with what its mentions stand for behind it: the text its event will carry.
pub(super) fn resolved(text: &str) -> String {
    let files = MENTIONS.iter().filter(|mention| mention.kind == "file" && text.contains(mention.token));
    files.fold(text.to_owned(), |text, file| format!("{text}\n\nThe person points at the file \"{}\".", file.name))
}

/// `GET /plugins`.
pub(super) async fn plugins(State(world): State<Arc<World>>) -> Reply {
    world.runs.look(schema::ready)?;
    Ok(json(&object!({"loaded": ["files", "coding", "ask-user", "compaction"], "failures": []})))
}

/// `POST /doctor`: every model answers.
pub(super) async fn doctor(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let mut fields = Fields::of(&body, true)?;
    fields.seconds("timeout", Some(300.0), false);
    fields.done()?;
    world.runs.look(|desk| {
        schema::ready(desk)?;
        let check = |model: &crate::runs::shape::Model| {
            object!({"model": model.name, "model_id": model.model, "ok": true, "seconds": 0.1, "detail": "",
                     "input_tokens": 4, "output_tokens": 1})
        };
        Ok(json(&object!({"checks": desk.models.iter().map(check).collect::<Vec<_>>()})))
    })
}

/// Whether the model may compact by itself. Its own choice wins over the default, which is no.
fn self_compacts(desk: &Desk) -> Reply {
    let choice = current_of(desk)?.self_compaction;
    Ok(json(&object!({"choice": choice, "effective": choice.unwrap_or(false)})))
}

/// `GET /sessions/current/self-compaction`.
pub(super) async fn self_compaction(State(world): State<Arc<World>>) -> Reply {
    world.runs.look(self_compacts)
}

/// `PUT /sessions/current/self-compaction`.
pub(super) async fn set_self_compaction(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let mut fields = Fields::of(&body, false)?;
    let choice = match fields.take("choice") {
        None | Some(serde_json::Value::Null) => None,
        Some(serde_json::Value::Bool(choice)) => Some(choice),
        Some(_) => {
            fields.refuse("choice", "Input should be a valid boolean");
            None
        }
    };
    fields.done()?;
    world.runs.change(|desk| {
        schema::ready(desk)?;
        if let Some(session) = desk.current_mut() {
            session.self_compaction = choice;
        }
        self_compacts(desk)
    })
}

/// The endpoints between sessions are there since 0.2.0.
fn newer(world: &World) -> Result<(), Refused> {
    world.runs.look(
        |desk| {
            if desk.manner.is_newer() { schema::ready(desk) } else { Err(Refused::not_found("Not Found")) }
        },
    )
}

/// `GET /messages`: nobody writes to this session.
pub(super) async fn messages(State(world): State<Arc<World>>) -> Reply {
    newer(&world)?;
    Ok(json(&object!({"messages": []})))
}

/// `POST /messages/{id}`.
pub(super) async fn answer_message(State(world): State<Arc<World>>, Path(_): Path<String>) -> Reply {
    newer(&world)?;
    Err(Refused::not_found("No message with that id is waiting"))
}

/// `POST /sessions/current/send`: no other process is there to take it.
pub(super) async fn send(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    newer(&world)?;
    let mut fields = Fields::of(&body, false)?;
    let to = fields.text("to", usize::MAX);
    fields.text("text", usize::MAX);
    fields.done()?;
    Err(Refused::new(404, "unreachable", format!("No session answers to '{to}'")))
}
