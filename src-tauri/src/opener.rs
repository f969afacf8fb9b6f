//! The one way a link leaves the app: http, https and mailto, exactly as shown, on the person's click.
//!
//! What opens is what was read. So an address with hidden or control characters, with a user name in front of the
//! host, or with a host that is written one way and resolved another is refused and the real address is given back.

use std::sync::Arc;

use contract::error::{AppError, ErrorCode};
use url::Url;

/// Longer addresses are refused (characters).
const LENGTH_CAP: usize = 4096;

/// Hands an address to the system.
type Open = dyn Fn(&str) -> std::io::Result<()> + Send + Sync;

/// The link opener.
#[derive(Clone)]
pub struct Opener {
    open: Arc<Open>,
}

impl Opener {
    /// Opens with the system's own programs.
    #[must_use]
    pub fn system() -> Self {
        Self::with(|address| tauri_plugin_opener::open_url(address, None::<&str>).map_err(std::io::Error::other))
    }

    /// Opens with another function.
    pub fn with(open: impl Fn(&str) -> std::io::Result<()> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open) }
    }

    /// Opens an address of the transcript.
    ///
    /// # Errors
    /// `LinkRefused` for what must not be opened, with the address as it would really be in `detail`;
    /// `Internal` where the system has no program for it.
    pub fn open(&self, shown: &str) -> Result<(), AppError> {
        let address = check(shown)?;
        (self.open)(address.as_str()).map_err(|error| {
            AppError::retryable(ErrorCode::Internal, "No program of this computer opened the link.")
                .with_detail(error.to_string())
        })
    }
}

/// Says what opens for an address as shown, or why it does not.
fn check(shown: &str) -> Result<Url, AppError> {
    if shown.chars().count() > LENGTH_CAP {
        return Err(refused("The link is too long to be opened.", None));
    }
    if shown.chars().any(|c| c.is_control() || c.is_whitespace() || is_hidden(c)) {
        return Err(refused("The link holds hidden characters.", Some(shown.escape_debug().to_string())));
    }
    // Browsers take a backslash for a slash: what looks like a path could be the host.
    if shown.contains('\\') {
        return Err(refused("The link holds a backslash.", None));
    }
    let url = Url::parse(shown).map_err(|error| refused("The link is no full address.", Some(error.to_string())))?;
    match url.scheme() {
        "http" | "https" => web(shown, url),
        "mailto" => mail(url),
        scheme => Err(refused("Only http, https and mailto links are opened.", Some(scheme.to_owned()))),
    }
}

fn web(shown: &str, url: Url) -> Result<Url, AppError> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused("The link has a user name in front of its host.", Some(host_of(&url))));
    }
    // `http:host` and `http:///host` parse, but nobody reads them as that host.
    let after_scheme = shown.get(url.scheme().len()..).unwrap_or_default();
    let shown_host = after_scheme
        .strip_prefix("://")
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .filter(|host| !host.is_empty())
        .ok_or_else(|| refused("The link is no full address.", None))?;
    // A host in another script is resolved as its ASCII form; so are full-width digits and the like. Opening is left
    // to a second click on the ASCII form, where both can be compared.
    if !shown_host.is_ascii() || shown_host.contains('%') {
        return Err(refused("The link's host is not what it looks like.", Some(url.to_string())));
    }
    Ok(url)
}

fn mail(url: Url) -> Result<Url, AppError> {
    let known = ["to", "cc", "bcc", "subject", "body"];
    // Some mail programs take `attach=` and send a file of this computer along.
    if let Some((name, _)) = url.query_pairs().find(|(name, _)| !known.contains(&name.to_ascii_lowercase().as_str())) {
        return Err(refused("The mail link asks for more than a message.", Some(name.into_owned())));
    }
    Ok(url)
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// Characters that are drawn as nothing or turn the reading direction.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn refused(message: &str, detail: Option<String>) -> AppError {
    let error = AppError::new(ErrorCode::LinkRefused, message);
    match detail {
        Some(detail) => error.with_detail(detail),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pretty_assertions::assert_eq;

    use super::*;

    fn opened(shown: &str) -> Result<Vec<String>, AppError> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = seen.clone();
        Opener::with(move |address| {
            into.lock().unwrap().push(address.to_owned());
            Ok(())
        })
        .open(shown)?;
        let seen = seen.lock().unwrap().clone();
        Ok(seen)
    }

    #[test]
    fn s07_http_https_and_mailto_open_as_shown() {
        for shown in [
            "https://example.com/a?b=c#d",
            "http://127.0.0.1:8080/",
            "https://xn--fiqs8s.example/",
            "https://[::1]:3000/x",
            "mailto:ops@example.com?subject=hello",
            "https://example.com/%E4%B8%AD",
        ] {
            assert_eq!(opened(shown), Ok(vec![shown.to_owned()]));
        }
        assert_eq!(opened("https://example.com/中"), Ok(vec!["https://example.com/%E4%B8%AD".to_owned()]));
    }

    #[test]
    fn s07_everything_else_is_refused_and_nothing_is_called() {
        for shown in [
            "file:///etc/passwd",
            "smb://host/share",
            "\\\\host\\share",
            "//host/share",
            "javascript:alert(1)",
            "data:text/html,x",
            "vscode://open",
            "ms-settings:",
            "tauri://localhost/",
            "https://example.com\\@evil.example/",
            "https://user@evil.example/",
            "https://user:pass@evil.example/",
            "https:example.com",
            "https:///example.com",
            "https://",
            "https://exa\u{200b}mple.com/",
            "https://example.com/\u{202e}gpj.exe",
            "https://example.com/a b",
            "https://example.com/\n",
            " https://example.com/",
            "https://еxample.com/",
            "https://example。com/",
            "https://exam%70le.com/",
            "mailto:a@example.com?attach=/etc/passwd",
            "example.com",
            "",
        ] {
            let error = opened(shown).expect_err(shown);
            assert_eq!(error.code, ErrorCode::LinkRefused, "{shown}");
        }
        assert_eq!(
            opened(&format!("https://example.com/{}", "a".repeat(5000))).unwrap_err().code,
            ErrorCode::LinkRefused
        );
    }

    #[test]
    fn a_host_in_another_script_is_refused_with_the_address_it_really_is() {
        let error = opened("https://еxample.com/login").unwrap_err();
        assert_eq!(error.detail.as_deref(), Some("https://xn--xample-2of.com/login"));
    }
}
