//! The HTTP face: two siblings on one port, told apart by the path alone (`/api/v1/cloud` and `/v1`), the `runs` side
//! below `/runs`, the `turns` side below `/turns`, and control.

pub(crate) mod catalogue;
mod control;
mod events;
mod gate;
mod page;
mod refusal;
mod sessions;
mod stream;

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::DefaultBodyLimit,
    middleware,
    response::Response,
    routing::{get, post},
};

use crate::{manner::Dialect, world::World};
pub(crate) use refusal::Refusal;

/// What every endpoint gives.
pub(crate) type Reply = Result<Response, Refusal>;

/// A request's parameters, in order; names may repeat.
pub(crate) type Pairs = Vec<(String, String)>;

/// The first value of a parameter.
pub(crate) fn first<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// All values of an array parameter, however it was written: `a[]=`, repeated, or with commas.
pub(crate) fn all(pairs: &Pairs, name: &str) -> Vec<String> {
    let bracketed = format!("{name}[]");
    pairs
        .iter()
        .filter(|(key, _)| key == name || *key == bracketed)
        .flat_map(|(_, value)| value.split(','))
        .filter(|value| !value.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The whole server.
pub(crate) fn router(world: &Arc<World>) -> Router {
    let qoder = sibling(Dialect::Qoder).route("/sessions/{id}/cancel", post(sessions::cancel));
    Router::new()
        .nest("/api/v1/cloud", qoder.layer(Extension(Dialect::Qoder)))
        .nest("/v1", sibling(Dialect::Claude).layer(Extension(Dialect::Claude)))
        .nest("/runs", crate::runs::http::router())
        // A nest takes its root without the slash alone.
        .route("/runs/", get(crate::runs::http::index))
        .nest("/turns", crate::turns::http::router())
        .route("/practice/control", post(control::control))
        .route("/practice/blobs/{key}", get(catalogue::blob))
        .fallback(|| async { Refusal::not_found("no such endpoint") })
        .method_not_allowed_fallback(|| async { Refusal::new(405, "invalid_request_error", "method not allowed") })
        .layer(middleware::from_fn_with_state(Arc::clone(world), gate::pass))
        .layer(DefaultBodyLimit::disable())
        .with_state(Arc::clone(world))
}

fn sibling(_: Dialect) -> Router<Arc<World>> {
    Router::new()
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route("/sessions/{id}", get(sessions::read).post(sessions::update).delete(sessions::delete))
        .route("/sessions/{id}/archive", post(sessions::archive))
        .route("/sessions/{id}/events", get(events::list).post(events::send))
        .route("/sessions/{id}/events/stream", get(stream::session))
        .route("/sessions/{id}/threads", get(sessions::threads))
        .route("/sessions/{id}/threads/{thread}", get(sessions::thread))
        .route("/sessions/{id}/threads/{thread}/archive", post(sessions::archive_thread))
        .route("/sessions/{id}/threads/{thread}/events", get(events::list_thread))
        .route("/sessions/{id}/threads/{thread}/stream", get(stream::thread))
        .route("/agents", get(catalogue::list_agents).post(catalogue::create_agent))
        .route("/agents/{id}", get(catalogue::read_agent))
        .route("/environments", get(catalogue::list_environments).post(catalogue::create_environment))
        .route("/environments/{id}", get(catalogue::read_environment))
        .route("/models", get(catalogue::models))
        .route("/files/{id}/content", get(catalogue::file_content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_parameters_are_read_in_every_spelling() {
        let pairs = [("types[]", "a"), ("types", "b,c"), ("limit", "2")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let pairs = pairs.to_vec();
        assert_eq!(all(&pairs, "types"), ["a", "b", "c"]);
        assert_eq!(first(&pairs, "limit"), Some("2"));
    }
}
