//! `POST /practice/control`: the control commands over HTTP, for tests in other processes and other languages.

use std::sync::Arc;

use axum::{Json, extract::State, response::IntoResponse};
use bytes::Bytes;

use super::{Refusal, Reply};
use crate::{Control, PracticeError, control::Command, world::World};

/// Carries one command out.
pub(crate) async fn control(State(world): State<Arc<World>>, body: Bytes) -> Reply {
    let command: Command = serde_json::from_slice(&body)
        .map_err(|error| Refusal::invalid(format!("bad control command: {error}"), "body"))?;
    match Control::new(world).run(command).await {
        Ok(answer) => Ok(Json(answer).into_response()),
        Err(error @ (PracticeError::NoSession(_) | PracticeError::NoScenario(_))) => {
            Err(Refusal::not_found(error.to_string()))
        }
        Err(error @ PracticeError::TimedOut) => Err(Refusal::new(408, "timeout_error", error.to_string())),
        Err(error) => Err(Refusal::invalid(error.to_string(), "do")),
    }
}
