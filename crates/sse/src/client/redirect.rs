//! Redirects, followed by ourselves: within the origin only, so that no token reaches another one.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use url::Url;

use super::SendError;

/// How many redirects in a row are followed.
pub const MAX_REDIRECTS: usize = 5;

/// Why a redirect was not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedirectRefused {
    /// It leads to another origin (another scheme, host or port).
    #[error(
        "the server redirects to {to}; a token is never sent on to another address, so use that address itself if you trust it"
    )]
    OtherOrigin {
        /// That origin.
        to: String,
    },
    /// It leads from https to http.
    #[error("the server redirects from https to http, which would show the token to everybody on the way")]
    Downgrade,
    /// Following it would turn a request that changes something into one that reads.
    #[error("the server redirects a {method} in a way that would lose its content ({status})")]
    LosesContent {
        /// The request's method.
        method: Method,
        /// The answer's status.
        status: StatusCode,
    },
    /// Its address cannot be read.
    #[error("the server redirects to an address that cannot be read")]
    Unreadable,
    /// More than [`MAX_REDIRECTS`] in a row.
    #[error("the server redirects in circles")]
    TooMany,
}

/// The request that follows the answer's redirect; `None` where it is no redirect.
pub(super) fn next(
    request: &Request<Bytes>,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Option<Request<Bytes>>, SendError> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get(header::LOCATION) else { return Ok(None) };
    let uri = target(request, location.as_bytes())?;
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    let mut next = request.clone();
    *next.uri_mut() = uri;
    match status.as_u16() {
        307 | 308 => {}
        303 if !reads => {
            *next.method_mut() = Method::GET;
            *next.body_mut() = Bytes::new();
            next.headers_mut().remove(header::CONTENT_TYPE);
            next.headers_mut().remove(header::CONTENT_LENGTH);
        }
        _ if reads => {}
        _ => return Err(RedirectRefused::LosesContent { method: request.method().clone(), status }.into()),
    }
    Ok(Some(next))
}

fn target(request: &Request<Bytes>, location: &[u8]) -> Result<http::Uri, RedirectRefused> {
    let from = Url::parse(&request.uri().to_string()).map_err(|_| RedirectRefused::Unreadable)?;
    let location = str::from_utf8(location).map_err(|_| RedirectRefused::Unreadable)?;
    let mut to = from.join(location).map_err(|_| RedirectRefused::Unreadable)?;
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(RedirectRefused::Downgrade);
    }
    if from.origin() != to.origin() {
        return Err(RedirectRefused::OtherOrigin { to: to.origin().ascii_serialization() });
    }
    to.set_fragment(None);
    if to.set_username("").is_err() || to.set_password(None).is_err() {
        return Err(RedirectRefused::Unreadable);
    }
    to.as_str().parse().map_err(|_| RedirectRefused::Unreadable)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn follow(method: Method, from: &str, status: u16, to: &str) -> Result<Option<(Method, String)>, String> {
        let request = Request::builder().method(method).uri(from).body(Bytes::from_static(b"body")).unwrap();
        let headers = HeaderMap::from_iter([(header::LOCATION, to.parse().unwrap())]);
        next(&request, StatusCode::from_u16(status).unwrap(), &headers)
            .map(|next| next.map(|next| (next.method().clone(), next.uri().to_string())))
            .map_err(|error| match error {
                SendError::Redirect(refused) => format!("{refused:?}"),
                other => panic!("{other}"),
            })
    }

    #[test]
    fn within_the_origin_a_redirect_is_followed() {
        let to = |uri: &str| Ok(Some((Method::GET, uri.to_owned())));
        assert_eq!(follow(Method::GET, "https://a.test/x/y", 302, "z?q=1#f"), to("https://a.test/x/z?q=1"));
        assert_eq!(follow(Method::GET, "https://a.test/x", 308, "https://a.test:443/y"), to("https://a.test/y"));
        assert_eq!(follow(Method::POST, "http://a.test/x", 303, "/y"), to("http://a.test/y"));
        assert_eq!(
            follow(Method::POST, "http://a.test/x", 307, "/y"),
            Ok(Some((Method::POST, "http://a.test/y".into())))
        );
    }

    #[test]
    fn s_11_another_origin_is_refused() {
        for (from, to, origin) in [
            ("https://a.test/", "https://b.test/", "https://b.test"),
            ("https://a.test/", "//b.test/x?token=canary", "https://b.test"),
            ("https://a.test/", "https://a.test:8443/", "https://a.test:8443"),
            ("http://a.test/", "https://a.test/", "https://a.test"),
            ("https://a.test/", "https://a.test@b.test/", "https://b.test"),
        ] {
            let expected = format!("OtherOrigin {{ to: {origin:?} }}");
            assert_eq!(follow(Method::GET, from, 307, to), Err(expected), "{from} to {to}");
        }
    }

    #[test]
    fn s_11_https_never_becomes_http() {
        assert_eq!(follow(Method::GET, "https://a.test/", 302, "http://a.test/"), Err("Downgrade".into()));
    }

    #[test]
    fn what_was_posted_is_never_lost_on_the_way() {
        for status in [301, 302] {
            let refused = follow(Method::POST, "https://a.test/", status, "/x").unwrap_err();
            assert!(refused.starts_with("LosesContent"), "{refused}");
        }
    }

    #[test]
    fn other_statuses_are_answers() {
        for status in [200, 300, 304, 404] {
            assert_eq!(follow(Method::GET, "https://a.test/", status, "https://b.test/"), Ok(None));
        }
    }
}
