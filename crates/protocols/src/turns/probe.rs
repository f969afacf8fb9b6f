//! Recognising a server: `GET /meta` names the version and the agents, with or without a token; `GET /sessions` shows
//! whether it lets us in (page §§0, 1.1 and 2). Neither changes anything.

use bytes::Bytes;
use contract::{
    error::ErrorCode,
    server::{AuthStyle, ServerOptions},
};
use http::Method;
use serde_json::Value;
use url::Url;

use super::{bodies, errors};
use crate::{Probe, Recognition, Refusal, headers::add_token};

/// The dialect of version 3 and of its revised draft, which sessions tell from each other.
pub(super) const V3: &str = "v3";
/// The dialect of version 4.
pub(super) const V4: &str = "v4";

/// The requests to try, in order.
pub(super) fn probes(base: &Url, options: &ServerOptions) -> Vec<Probe> {
    let mut typed = base.clone();
    typed.set_query(None);
    typed.set_fragment(None);
    let path = typed.path().trim_end_matches('/').to_owned();
    typed.set_path(&path);
    let probe = |dialect: &'static str, segment: &str, read: fn(&http::Response<Bytes>) -> Recognition| {
        let request = bodies::request(&typed, options, Method::GET, &[segment], &[], None)?;
        let authorize = |request: &mut http::Request<Bytes>, token: &str| add_token(request, token, AuthStyle::Bearer);
        Some(Probe { dialect: Some(dialect), base: typed.clone(), request, authorize, read })
    };
    [probe(V3, "meta", |answer| read_meta(answer, 3)), probe(V4, "meta", |answer| read_meta(answer, 4))]
        .into_iter()
        .flatten()
        .collect()
}

/// The version a server names; `None` where it is no server of this protocol.
fn version(answer: &http::Response<Bytes>) -> Option<u64> {
    let body = errors::json(answer).ok()?;
    body.get("agents").filter(|agents| agents.is_array())?;
    body.get("version").and_then(Value::as_u64)
}

fn read_meta(answer: &http::Response<Bytes>, wanted: u64) -> Recognition {
    match version(answer) {
        Some(version) if version == wanted => Recognition::Yes { version: Some(version.to_string()) },
        // The other dialect's probe takes it.
        Some(3 | 4) => Recognition::No,
        Some(version) => Recognition::Refused(Refusal {
            code: ErrorCode::WrongProtocol,
            status: answer.status().as_u16(),
            message: format!(
                "This server speaks version {version} of the Agent Application Protocol; this app speaks 3 and 4."
            ),
            request_id: None,
            detail: None,
        }),
        None if answer.status() == http::StatusCode::UNAUTHORIZED => Recognition::WantsToken(errors::refusal(answer)),
        None => Recognition::No,
    }
}
