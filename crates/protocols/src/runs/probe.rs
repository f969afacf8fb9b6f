//! Recognising a server: `GET /health`, which wants no token and names version, workspace and whether a run goes on;
//! then `GET /settings`, which shows whether it lets us in (runs-server page, §§2–3). Neither changes anything.

use bytes::Bytes;
use contract::server::{AuthStyle, ServerOptions};
use http::Method;
use serde_json::Value;
use url::Url;

use super::{bodies, errors};
use crate::{Probe, Recognition, headers::add_token};

/// The requests to try, in order.
pub(super) fn probes(base: &Url, options: &ServerOptions) -> Vec<Probe> {
    let mut typed = base.clone();
    typed.set_query(None);
    typed.set_fragment(None);
    let path = typed.path().trim_end_matches('/').to_owned();
    typed.set_path(&path);
    let probe = |segment: &str, read: fn(&http::Response<Bytes>) -> Recognition| {
        let request = bodies::request(&typed, options, Method::GET, &[segment], &[], None)?;
        let authorize = |request: &mut http::Request<Bytes>, token: &str| add_token(request, token, AuthStyle::Bearer);
        Some(Probe { dialect: None, base: typed.clone(), request, authorize, read })
    };
    probe("health", read_health).into_iter().chain(probe("settings", read_settings)).collect()
}

fn read_health(answer: &http::Response<Bytes>) -> Recognition {
    let Ok(body) = errors::json(answer) else { return Recognition::No };
    let says = |name: &str| body.get(name).is_some_and(Value::is_string);
    let is_ours =
        says("status") && says("version") && says("workspace") && body.get("busy").is_some_and(Value::is_boolean);
    if !is_ours {
        return Recognition::No;
    }
    Recognition::Speaks { version: body.get("version").and_then(Value::as_str).map(str::to_owned) }
}

/// Many servers have a path of this name: only what nobody else would answer counts.
fn read_settings(answer: &http::Response<Bytes>) -> Recognition {
    let word = errors::word(answer);
    match (answer.status().as_u16(), word.as_deref()) {
        (200..=299, _) if is_settings(answer) => Recognition::Yes { version: None },
        (409, Some("no_model")) => Recognition::Yes { version: None },
        (401, Some("unauthorized")) => Recognition::WantsToken(errors::refusal(answer)),
        (500..=599, Some("internal" | "run" | "timeout")) => Recognition::Refused(errors::refusal(answer)),
        _ => Recognition::No,
    }
}

fn is_settings(answer: &http::Response<Bytes>) -> bool {
    errors::json(answer).is_ok_and(|body| {
        body.get("permission").is_some_and(Value::is_string) && body.get("permissions").is_some_and(Value::is_array)
    })
}
