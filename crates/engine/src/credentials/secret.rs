//! A token that shows itself to nobody.

use std::fmt;

/// A token. `Debug` and `Display` never show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A token as pasted: surrounding white space is cut. `None` when nothing is left.
    #[must_use]
    pub fn pasted(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The token itself: only for the keyring and for the header of a request.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pasted_token_is_trimmed_and_never_shown() {
        let secret = Secret::pasted("  pt-canary\n").unwrap();
        assert_eq!(secret.expose(), "pt-canary");
        assert!(!format!("{secret:?}").contains("canary"));
        assert!(Secret::pasted(" \n").is_none());
    }
}
