//! JSON in a tool's result, indented. Nothing in it is read as a number or written anew: every value stays as it came.

use serde::de::IgnoredAny;

use crate::json;

/// A text that is JSON (servers write every result so): a JSON text without its quotes, everything else indented.
/// `None` where it is no JSON.
pub(super) fn pretty(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with(['{', '[', '"']) || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return None;
    }
    if text.starts_with('"') {
        return json::string(text).map(std::borrow::Cow::into_owned);
    }
    Some(indented(text))
}

fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    let mut chars = text.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(char) = chars.next() {
        if in_text {
            out.push(char);
            in_text = is_escaped || char != '"';
            is_escaped = !is_escaped && char == '\\';
            continue;
        }
        match char {
            '{' | '[' => {
                while chars.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                out.push(char);
                if let Some(close) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(char);
            }
            ',' => {
                out.push(char);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            '"' => {
                in_text = true;
                out.push(char);
            }
            space if space.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_json_is_indented_and_keeps_every_value_as_it_came() {
        assert_eq!(pretty(r#""12:00""#).as_deref(), Some("12:00"));
        assert_eq!(
            pretty(r#"{"n":12345678901234567890.10,"s":"a{\"b\",:","e":[], "o":{ }}"#).as_deref(),
            Some("{\n  \"n\": 12345678901234567890.10,\n  \"s\": \"a{\\\"b\\\",:\",\n  \"e\": [],\n  \"o\": {}\n}")
        );
        assert_eq!(pretty("[1,[2]]").as_deref(), Some("[\n  1,\n  [\n    2\n  ]\n]"));
    }

    #[test]
    fn what_is_no_json_stays_as_it_is() {
        for text in ["12:00", "4", "{not", "", "[1,]"] {
            assert_eq!(pretty(text), None, "{text}");
        }
    }
}
