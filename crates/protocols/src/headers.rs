//! Headers every protocol sends alike: what is wanted, where the token goes, what the person added.

use bytes::Bytes;
use contract::server::{AuthStyle, ServerOptions};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION},
};

/// The answer wanted: JSON.
pub(crate) const JSON: &str = "application/json";
/// The answer wanted: a stream.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// Lists of names in one header: what the person adds joins what the dialect needs.
const JOINED: &str = "anthropic-beta";

/// The headers the person added. Names that carry secrets are left out: secrets live in the keyring only.
pub(crate) fn add_extra(headers: &mut HeaderMap, options: &ServerOptions) {
    for extra in &options.headers {
        let (Ok(name), Ok(value)) =
            (extra.name.trim().parse::<HeaderName>(), HeaderValue::from_str(extra.value.trim()))
        else {
            continue;
        };
        if name == AUTHORIZATION || name == PROXY_AUTHORIZATION || name == COOKIE || name == API_KEY {
            continue;
        }
        let joined = (name == JOINED)
            .then(|| headers.get(&name))
            .flatten()
            .and_then(|had| Some((had.to_str().ok()?, value.to_str().ok()?)))
            .filter(|(had, more)| !had.split(',').any(|one| one.trim() == *more))
            .and_then(|(had, more)| HeaderValue::from_str(&format!("{had},{more}")).ok());
        match joined {
            Some(both) => headers.insert(name, both),
            None if name == JOINED && headers.contains_key(&name) => None,
            None => headers.insert(name, value),
        };
    }
}

/// Adds a token, marked as sensitive so that no log prints it. A token no header can carry is not sent at all.
pub(crate) fn add_token(request: &mut http::Request<Bytes>, token: &str, style: AuthStyle) {
    let headers = request.headers_mut();
    if matches!(style, AuthStyle::Bearer | AuthStyle::Both)
        && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {token}"))
    {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    if matches!(style, AuthStyle::ApiKey | AuthStyle::Both)
        && let Ok(mut value) = HeaderValue::from_str(token)
    {
        value.set_sensitive(true);
        headers.insert(API_KEY, value);
    }
}
