//! A server's address as people type it.

use contract::error::{AppError, ErrorCode};
use url::{Host, Url};

/// Reads an address. Without a scheme, this computer gets `http`, every other host `https`.
///
/// # Errors
/// `InvalidInput` with what to change.
pub fn read_address(typed: &str) -> Result<Url, AppError> {
    let typed = typed.trim();
    let bad = |message: &str| AppError::new(ErrorCode::InvalidInput, message).with_detail(typed.to_owned());
    if typed.is_empty() {
        return Err(AppError::new(
            ErrorCode::InvalidInput,
            "Enter the server's address, for example http://127.0.0.1:3290.",
        ));
    }
    let with_scheme = if typed.contains("://") {
        typed.to_owned()
    } else {
        let https = format!("https://{typed}");
        match Url::parse(&https) {
            Ok(url) if is_loopback(&url) => format!("http://{typed}"),
            _ => https,
        }
    };
    let mut url =
        Url::parse(&with_scheme).map_err(|_| bad("This is not an address. Check it for a typing mistake."))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("Only http and https addresses can be used."));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(bad("The address has no host."));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // The detail would show the password.
        return Err(AppError::new(
            ErrorCode::InvalidInput,
            "Leave user name and password out of the address. A token belongs in the token field.",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(AppError::new(ErrorCode::InvalidInput, "Leave out what follows ? or # in the address."));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// Whether an address is this computer.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
        }
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Whether tokens sent there could be read on the way.
#[must_use]
pub fn is_plain_and_remote(url: &Url) -> bool {
    url.scheme() == "http" && !is_loopback(url)
}

/// The address as saved: without a trailing slash.
#[must_use]
pub fn written(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

/// A name for a server nobody named.
#[must_use]
pub fn name_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or("server");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn addresses_are_taken_as_people_type_them() {
        for (typed, saved) in [
            ("localhost:3290", "http://localhost:3290"),
            (" http://127.0.0.1:3290/ ", "http://127.0.0.1:3290"),
            ("api.example.com/v1/", "https://api.example.com/v1"),
            ("[::1]:80", "http://[::1]"),
        ] {
            assert_eq!(written(&read_address(typed).unwrap()), saved, "{typed}");
        }
    }

    #[test]
    fn what_is_no_usable_address_is_refused_and_a_password_is_not_repeated() {
        for typed in ["", "ftp://x", "https://", "http://a b", "https://x/?key=1", "https://x/#y"] {
            assert_eq!(read_address(typed).unwrap_err().code, ErrorCode::InvalidInput, "{typed}");
        }
        let error = read_address("https://me:canary@host").unwrap_err();
        assert!(!format!("{error:?}").contains("canary"));
    }

    #[test]
    fn s11_plain_http_beyond_this_computer_is_known() {
        assert!(is_plain_and_remote(&read_address("http://192.0.2.1").unwrap()));
        assert!(!is_plain_and_remote(&read_address("http://127.5.0.1").unwrap()));
        assert!(!is_plain_and_remote(&read_address("https://example.com").unwrap()));
    }
}
