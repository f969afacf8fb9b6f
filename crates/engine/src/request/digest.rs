//! The digest that binds a decision to exactly what was shown (design, promise 2).

use contract::{request::RequestKind, server::ServerId};
use sha2::{Digest as _, Sha256};

use super::json;

/// What a digest covers.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'a> {
    /// The server.
    pub server: &'a ServerId,
    /// The session's id at the server.
    pub session: &'a str,
    /// The request's id.
    pub request: &'a str,
    /// What is asked.
    pub kind: RequestKind,
    /// The tool's name.
    pub tool: Option<&'a str>,
    /// Where it would run.
    pub work_dir: Option<&'a str>,
    /// The arguments as received.
    pub arguments: &'a str,
}

/// SHA-256 over the length-prefixed parts, as lower-case hex.
#[must_use]
pub fn digest(bound: &Bound<'_>) -> String {
    let canonical = match json::read(bound.arguments) {
        Ok(value) => value.canonical(),
        // What cannot be read is bound byte for byte.
        Err(_) => bound.arguments.to_owned(),
    };
    let kind = match bound.kind {
        RequestKind::Approval => "approval",
        RequestKind::Question => "question",
        RequestKind::ClientTool => "client_tool",
        RequestKind::Fallback => "fallback",
    };
    let mut sha = Sha256::new();
    for part in [
        Some(bound.server.0.as_str()),
        Some(bound.session),
        Some(bound.request),
        Some(kind),
        bound.tool,
        bound.work_dir,
        Some(canonical.as_str()),
    ] {
        // A missing part differs from an empty one.
        sha.update([u8::from(part.is_some())]);
        let bytes = part.unwrap_or_default().as_bytes();
        sha.update((bytes.len() as u64).to_be_bytes());
        sha.update(bytes);
    }
    sha.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(arguments: &str) -> String {
        digest(&Bound {
            server: &ServerId("s".into()),
            session: "sess_1",
            request: "evt_1",
            kind: RequestKind::Approval,
            tool: Some("Bash"),
            work_dir: None,
            arguments,
        })
    }

    #[test]
    fn order_and_space_of_arguments_do_not_matter_but_every_byte_of_their_values_does() {
        assert_eq!(with(r#"{"a":1,"b":"x"}"#), with(r#"{ "b":"x", "a":1 }"#));
        assert_ne!(with(r#"{"a":1}"#), with(r#"{"a":1.0}"#));
        assert_ne!(with(r#"{"a":"x"}"#), with(r#"{"a":"x "}"#));
        assert_ne!(with("not json"), with("not json "));
    }

    #[test]
    fn parts_cannot_be_shifted_into_each_other() {
        let bound = Bound {
            server: &ServerId("s".into()),
            session: "ab",
            request: "c",
            kind: RequestKind::Approval,
            tool: None,
            work_dir: Some(""),
            arguments: "{}",
        };
        let a = digest(&bound);
        assert_ne!(a, digest(&Bound { session: "a", request: "bc", ..bound }));
        assert_ne!(a, digest(&Bound { work_dir: None, ..bound }));
    }
}
