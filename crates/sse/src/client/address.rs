//! What an address says before anything is sent to it.

use std::net::IpAddr;

use http::Uri;

use super::SendError;

/// Where a request goes, as far as the way there depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) https: bool,
    pub(super) loopback: bool,
}

impl Target {
    pub(super) fn of(uri: &Uri) -> Result<Self, SendError> {
        let refuse = |reason: &str| Err(SendError::Url { reason: reason.to_owned() });
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return refuse("it must start with https:// or http://"),
        };
        // The layers below write the address into their logs as it stands.
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return refuse("it holds a login; leave that out and give the token in its own field");
        }
        match uri.host() {
            Some(host) if !host.is_empty() => Ok(Self { https, loopback: is_loopback(host) }),
            _ => refuse("it names no host"),
        }
    }
}

/// 127.0.0.0/8, ::1, and names that must never leave this computer (RFC 6761, 6.3).
fn is_loopback(host: &str) -> bool {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// An address for logs and messages: scheme, host, port and path, without login and query, which may hold secrets.
pub fn redacted(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", uri.scheme_str().unwrap_or_default(), uri.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_this_computer_and_nothing_else() {
        for host in [
            "127.0.0.1",
            "127.9.8.7",
            "[::1]",
            "localhost",
            "LOCALHOST",
            "localhost.",
            "a.localhost",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "128.0.0.1",
            "10.0.0.1",
            "[::2]",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "example.com",
            "0.0.0.0",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn p_46_an_address_is_shown_without_login_and_query() {
        let uri = Uri::from_static("https://me:canary@example.com:8443/v1/x?token=canary");
        assert_eq!(redacted(&uri), "https://example.com:8443/v1/x");
    }
}
