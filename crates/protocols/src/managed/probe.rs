//! Recognising a server: `GET …/agents?limit=1` in each dialect, which changes nothing at the server.
//!
//! Qoder answers with `x-request-id` and a list envelope with ids, and refuses `x-api-key`; Claude and its clones answer
//! with `request-id`, a list envelope with cursors only, and refuse requests without a version header with 400
//! (Qoder page, section 1; Claude page, sections 1 and 2).

use bytes::Bytes;
use contract::server::ServerOptions;
use http::Method;
use serde_json::Value;
use url::Url;

use super::{
    dialect::{CLAUDE, Dialect, QODER},
    errors, paths, requests,
};
use crate::{Probe, Recognition};

/// Where a server's base lies when only its host was typed, with the dialect that is usual there.
const USUAL_PREFIXES: [(&str, &Dialect); 2] = [("/api/v1/cloud", &QODER), ("/v1", &CLAUDE)];

/// The requests to try, in order: the likeliest dialect of each address first.
pub(super) fn probes(base: &Url, options: &ServerOptions) -> Vec<Probe> {
    let mut typed = base.clone();
    typed.set_query(None);
    typed.set_fragment(None);
    let path = typed.path().trim_end_matches('/').to_owned();
    typed.set_path(&path);
    let mut addresses = Vec::new();
    if path.is_empty() {
        for (prefix, usual) in USUAL_PREFIXES {
            let mut address = typed.clone();
            address.set_path(prefix);
            addresses.push((address, usual));
        }
    }
    addresses.push((typed.clone(), Dialect::of(&typed, &ServerOptions::default())));

    let wanted = options.dialect.as_deref();
    let mut probes = Vec::new();
    for (address, usual) in addresses {
        let other = if usual == &QODER { &CLAUDE } else { &QODER };
        for dialect in [usual, other] {
            if wanted.is_none_or(|wanted| wanted == dialect.id) {
                probes.extend(probe(dialect, &address, options));
            }
        }
    }
    probes
}

fn probe(dialect: &'static Dialect, base: &Url, options: &ServerOptions) -> Option<Probe> {
    let address = paths::address(base, &["agents"], &[("limit", "1")]);
    let request = requests::request(dialect, options, Method::GET, &address, requests::JSON, None)?;
    Some(Probe {
        dialect: Some(dialect.id),
        base: base.clone(),
        request,
        authorize: authorize(dialect, options),
        read: if dialect == &QODER { read_qoder } else { read_claude },
    })
}

/// The way to add a token, as a plain function: the style is one of three.
fn authorize(dialect: &Dialect, options: &ServerOptions) -> fn(&mut http::Request<Bytes>, &str) {
    use contract::server::AuthStyle::{ApiKey, Bearer, Both};
    match options.auth.unwrap_or(dialect.auth) {
        Bearer => |request, token| requests::add_token(request, token, Bearer),
        ApiKey => |request, token| requests::add_token(request, token, ApiKey),
        Both => |request, token| requests::add_token(request, token, Both),
    }
}

fn read_qoder(answer: &http::Response<Bytes>) -> Recognition {
    let has_only_claude_id =
        answer.headers().contains_key("request-id") && !answer.headers().contains_key("x-request-id");
    match answer.status().as_u16() {
        // A list envelope without any id is Claude's; so is the header.
        200..=299 if is_list(answer, &["first_id", "last_id", "has_more"]) && !has_only_claude_id => {
            Recognition::Yes { version: None }
        }
        200..=299 => Recognition::No,
        // What Claude's siblings say to a request without a version header. Qoder has no reason to refuse this one.
        400 => Recognition::No,
        401 if has_only_claude_id => Recognition::No,
        _ => refused(answer),
    }
}

fn read_claude(answer: &http::Response<Bytes>) -> Recognition {
    let is_qoder = answer.headers().contains_key("x-request-id") && !answer.headers().contains_key("request-id");
    match answer.status().as_u16() {
        200..=299 if is_list(answer, &[]) => Recognition::Yes { version: None },
        200..=299 => Recognition::No,
        // Qoder refuses `x-api-key` with 401: its own probe has the say.
        401 if is_qoder => Recognition::No,
        400 if !errors::is_envelope(answer.body()) => Recognition::No,
        _ => refused(answer),
    }
}

/// What a refusal shows. Bodies may be missing (a gateway's), so only statuses that mean "not here" count as no.
fn refused(answer: &http::Response<Bytes>) -> Recognition {
    match answer.status().as_u16() {
        401 => Recognition::WantsToken(errors::refusal(answer)),
        403 | 408 | 429 | 500..=599 => Recognition::Refused(errors::refusal(answer)),
        400 if errors::is_envelope(answer.body()) => Recognition::Refused(errors::refusal(answer)),
        _ => Recognition::No,
    }
}

/// Whether a body is a list envelope with at least one of these fields (any at all where none is named).
fn is_list(answer: &http::Response<Bytes>, marks: &[&str]) -> bool {
    let Ok(body) = errors::success(answer) else { return false };
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return false };
    body.get("data").is_some_and(Value::is_array)
        && (marks.is_empty() || marks.iter().any(|mark| body.get(*mark).is_some()))
}
