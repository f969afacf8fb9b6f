//! Argument text for people: complete, made here, never through a JavaScript number.

use contract::request::RequestFlag;

use super::json::{self, Json};

/// Arguments as text, and what was found in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentText {
    /// Indented JSON, or the raw text where it is not JSON.
    pub text: String,
    /// The command, where the call runs one.
    pub command: Option<String>,
    /// One line that says what the call acts on.
    pub subject: Option<String>,
    /// What needs care.
    pub flags: Vec<RequestFlag>,
}

const COMMAND_KEYS: &[&str] = &["command", "cmd", "script"];
const SUBJECT_KEYS: &[&str] = &[
    "file_path",
    "path",
    "filename",
    "file",
    "notebook_path",
    "url",
    "uri",
    "query",
    "pattern",
    "subject",
    "name",
    "title",
    "description",
    "prompt",
];
const SUBJECT_CHARS: usize = 200;

/// Reads raw JSON arguments for showing.
#[must_use]
pub fn argument_text(raw: &str) -> ArgumentText {
    let mut flags = Vec::new();
    let (text, command, subject) = match json::read(raw) {
        Ok(value) => {
            if value.has_double_keys() {
                flags.push(RequestFlag::DuplicateKeys);
            }
            if !matches!(value, Json::Object(_)) {
                flags.push(RequestFlag::RawArguments);
            }
            let command = value.string_at(COMMAND_KEYS).map(str::to_owned);
            let named = command.as_deref().or_else(|| value.string_at(SUBJECT_KEYS));
            let subject = named.or_else(|| value.first_string()).map(one_line);
            (value.pretty(), command, subject)
        }
        Err(_) => {
            flags.push(RequestFlag::RawArguments);
            (raw.to_owned(), None, Some(one_line(raw)))
        }
    };
    if has_hidden(&text) || command.as_deref().is_some_and(has_hidden) {
        flags.push(RequestFlag::HiddenCharacters);
    }
    ArgumentText { text, command, subject, flags }
}

/// The first line, cut to what fits one line of the page.
#[must_use]
pub fn one_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(SUBJECT_CHARS) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or(line)),
        None if line.len() < text.trim().len() => format!("{line} …"),
        None => line.to_owned(),
    }
}

/// Whether a text holds characters that a reader cannot see or that reorder what is read ([`scrutiny::marks`]).
#[must_use]
pub fn has_hidden(text: &str) -> bool {
    // Plain text, which nearly all of it is, is told by one pass over bytes.
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) | (byte == b'\n') | (byte == b'\t');
    if text.as_bytes().chunks(64).all(|chunk| chunk.iter().fold(true, |plain, byte| plain & is_plain(*byte))) {
        return false;
    }
    scrutiny::marks::hides_characters(text)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_command_is_found_and_shown_whole() {
        let found = argument_text(r#"{"command":"ls -la\nrm x","description":"list"}"#);
        assert_eq!(found.command.as_deref(), Some("ls -la\nrm x"));
        assert_eq!(found.subject.as_deref(), Some("ls -la …"));
        assert_eq!(found.flags, vec![]);
    }

    #[test]
    fn arguments_that_are_no_object_are_flagged_and_kept() {
        let found = argument_text("[1, 2");
        assert_eq!(found.text, "[1, 2");
        assert_eq!(found.flags, vec![RequestFlag::RawArguments]);
        assert_eq!(argument_text("\"x\"").flags, vec![RequestFlag::RawArguments]);
    }

    #[test]
    fn a_tool_without_a_telling_key_is_named_by_its_first_text() {
        let subject = |raw: &str| argument_text(raw).subject;
        assert_eq!(subject(r#"{"days":3,"unit":" ","city":"东京","zone":"Asia/Tokyo"}"#).as_deref(), Some("东京"));
        assert_eq!(subject(r#"{"city":"东京","query":"rain"}"#).as_deref(), Some("rain"));
        assert_eq!(subject(r#"{"days":3,"nested":{"city":"东京"}}"#), None);
    }

    #[test]
    fn hidden_characters_are_flagged_and_chinese_is_not() {
        assert_eq!(argument_text("{\"command\":\"a\u{202e}b\"}").flags, vec![RequestFlag::HiddenCharacters]);
        assert_eq!(argument_text("{\"command\":\"a\\u202eb\"}").flags, vec![RequestFlag::HiddenCharacters]);
        assert_eq!(argument_text("{\"query\":\"东京天气 🌤️ ok\"}").flags, vec![]);
    }
}
