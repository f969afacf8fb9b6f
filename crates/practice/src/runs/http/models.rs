//! The models of the configuration (§3): the first one makes the server ready at once.

use std::sync::Arc;

use axum::extract::{Path, State};
use bytes::Bytes;
use serde::Serialize;

use super::{
    Refused, Reply,
    catalogue::use_model,
    json,
    schema::{self, Fields},
};
use crate::{
    runs::{
        desk::{Desk, EFFORTS},
        shape::{Model, NewerModel},
    },
    world::World,
};

const BUSY: &str = "A run is in progress; change the models when it ends";

#[derive(Serialize)]
struct Models<'a> {
    models: &'a [Model],
    current: Option<&'a str>,
}

fn shown(desk: &Desk) -> Reply {
    Ok(json(&Models { models: &desk.models, current: desk.model.as_deref() }))
}

/// `GET /models`: also before there is one.
pub(super) async fn list(State(world): State<Arc<World>>) -> Reply {
    world.runs.look(shown)
}

/// What an entry says; `None` = it does not say it.
#[derive(Debug, Default)]
struct Entry {
    model: Option<String>,
    display_model: Option<String>,
    base_url: Option<String>,
    multimodal: Option<bool>,
    context_window: Option<u64>,
    compact_percent: Option<f64>,
    efforts: Vec<String>,
    anthropic: bool,
    responses_api: bool,
}

fn entry(fields: &mut Fields, newer: bool) -> Entry {
    fields.text_or_null("token");
    let number = |value: Option<serde_json::Value>| value.and_then(|value| value.as_f64());
    let window = number(fields.take("context_window"));
    let entry = Entry {
        model: None,
        display_model: fields.text_or_null("display_model"),
        base_url: fields.text_or_null("base_url"),
        multimodal: fields.strict_bool("multimodal", false),
        context_window: window.and_then(|window| format!("{window:.0}").parse().ok()),
        compact_percent: number(fields.take("compact_percent")),
        efforts: fields
            .take("reasoning_efforts")
            .and_then(|list| serde_json::from_value(list).ok())
            .unwrap_or_default(),
        anthropic: fields.bool("anthropic", false),
        responses_api: fields.bool("responses_api", false),
    };
    if newer {
        for name in ["chat", "temperature", "web_search", "web_search_name"] {
            fields.take(name);
        }
    }
    fields.forbid_others();
    entry
}

impl Entry {
    fn write(self, model: &mut Model) {
        if let Some(id) = self.model {
            model.model = id;
        }
        if let Some(name) = &self.display_model {
            model.name.clone_from(name);
        }
        model.multimodal = self.multimodal.unwrap_or(model.multimodal);
        model.context_window = self.context_window.unwrap_or(model.context_window);
        model.compact_percent = self.compact_percent.unwrap_or(model.compact_percent);
        if !self.efforts.is_empty() {
            model.efforts = self.efforts;
        }
        if let Some(newer) = &mut model.newer {
            newer.display_model = self.display_model.or(newer.display_model.take());
            newer.base_url = self.base_url.or(newer.base_url.take());
            if self.anthropic || self.responses_api {
                newer.api = if self.anthropic { "anthropic" } else { "responses" }.to_owned();
            }
        }
    }
}

/// `POST /models`.
pub(super) async fn add(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let newer = world.runs.look(|desk| desk.manner.is_newer());
    let mut fields = Fields::of(&body, false)?;
    let id = fields.text("model", usize::MAX);
    let entry = entry(&mut fields, newer);
    fields.done()?;
    let answer = world.runs.change(|desk| {
        if desk.is_busy() {
            return Err(Refused::busy(BUSY));
        }
        let mut model = Model {
            name: id.clone(),
            model: id,
            context_window: 128_000,
            multimodal: false,
            efforts: EFFORTS.map(str::to_owned).to_vec(),
            active: false,
            compact_percent: 80.0,
            newer: newer.then(|| NewerModel {
                web_search: false,
                web_search_name: None,
                display_model: None,
                base_url: None,
                api: "chat".into(),
                temperature: None,
                can_search: true,
                search_name: "web_search".into(),
            }),
        };
        entry.write(&mut model);
        if desk.models.iter().any(|known| known.name == model.name) {
            return Err(Refused::invalid(format!("A model named {} is configured already", model.name)));
        }
        let name = model.name.clone();
        desk.models.push(model);
        if desk.model.is_none() {
            use_model(desk, &name)?;
        }
        shown(desk)
    });
    schema::with_status(201, answer)
}

/// `PATCH /models/{name}`.
pub(super) async fn change(State(world): State<Arc<World>>, Path(name): Path<String>, body: Bytes) -> Reply {
    let newer = world.runs.look(|desk| desk.manner.is_newer());
    let said_nothing =
        serde_json::from_slice::<serde_json::Value>(&body).is_ok_and(|body| body == serde_json::json!({}));
    let mut fields = Fields::of(&body, false)?;
    let id = fields.text_or_null("model");
    let entry = Entry { model: id, ..entry(&mut fields, newer) };
    fields.done()?;
    world.runs.change(|desk| {
        if desk.is_busy() {
            return Err(Refused::busy(BUSY));
        }
        if said_nothing {
            return Err(Refused::invalid("Name at least one field to change"));
        }
        let used = desk.model.as_deref() == Some(name.as_str());
        let Some(model) = desk.models.iter_mut().find(|model| model.name == name) else {
            return Err(Refused::invalid(format!("Unknown model: {name}")));
        };
        entry.write(model);
        let name = model.name.clone();
        if used {
            use_model(desk, &name)?;
        }
        shown(desk)
    })
}

/// `DELETE /models/{name}`: the last one stays.
pub(super) async fn remove(State(world): State<Arc<World>>, Path(name): Path<String>) -> Reply {
    world.runs.change(|desk| {
        if desk.is_busy() {
            return Err(Refused::busy(BUSY));
        }
        if !desk.models.iter().any(|model| model.name == name) {
            return Err(Refused::invalid(format!("Unknown model: {name}")));
        }
        if desk.models.len() == 1 {
            return Err(Refused::invalid("The last model cannot be removed"));
        }
        desk.models.retain(|model| model.name != name);
        if desk.model.as_deref() == Some(name.as_str())
            && let Some(next) = desk.models.first().map(|model| model.name.clone())
        {
            use_model(desk, &next)?;
        }
        shown(desk)
    })
}
