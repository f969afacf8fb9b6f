//! JSON read without losing anything: numbers stay source text, keys keep their order and their doubles.
//!
//! `serde_json` does the reading (strictly); this only keeps what its `Value` would round or merge. Used for
//! digests and for the argument text on cards, never on the hot path.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// Deeper than this is not read: such arguments are shown raw and flagged.
pub const MAX_DEPTH: usize = 128;

/// A JSON value as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as its source text.
    Number(&'a str),
    /// A string, decoded.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object: keys decoded, in source order, doubles kept.
    Object(Vec<(String, Json<'a>)>),
}

/// Why a text is not usable as JSON here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotJson {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Syntax(String),
    /// Nested too deeply.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Reads a whole text.
///
/// # Errors
/// When it is not JSON, or nested deeper than [`MAX_DEPTH`].
pub fn read(text: &str) -> Result<Json<'_>, NotJson> {
    if text.starts_with('{') {
        // Read as an object it is checked as a whole: once is enough.
        return value(text, 0);
    }
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| NotJson::Syntax(error.to_string()))?;
    value(raw.get(), 0)
}

/// Reads a text that is JSON, or begins as an object.
fn value(text: &str, depth: usize) -> Result<Json<'_>, NotJson> {
    if depth > MAX_DEPTH {
        return Err(NotJson::TooDeep);
    }
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    let syntax = |error: serde_json::Error| NotJson::Syntax(error.to_string());
    Ok(match text.as_bytes().first() {
        Some(b'n') => Json::Null,
        Some(b't') => Json::Bool(true),
        Some(b'f') => Json::Bool(false),
        Some(b'"') => match text.get(1..text.len() - 1) {
            Some(inner) if !inner.contains('\\') => Json::String(Cow::Borrowed(inner)),
            _ => Json::String(Cow::Owned(serde_json::from_str(text).map_err(syntax)?)),
        },
        Some(b'[') => {
            let rows: Vec<&RawValue> = serde_json::from_str(text).map_err(syntax)?;
            Json::Array(rows.into_iter().map(|row| value(row.get(), depth + 1)).collect::<Result<_, _>>()?)
        }
        Some(b'{') => {
            let Pairs(pairs) = serde_json::from_str(text).map_err(syntax)?;
            Json::Object(
                pairs
                    .into_iter()
                    .map(|(key, row)| Ok((key.into_owned(), value(row.get(), depth + 1)?)))
                    .collect::<Result<_, NotJson>>()?,
            )
        }
        _ => Json::Number(text),
    })
}

struct Pairs<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Read<'a> {
            type Value = Pairs<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(key) = map.next_key::<Cow<'a, str>>()? {
                    pairs.push((key, map.next_value::<&'a RawValue>()?));
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Read(std::marker::PhantomData))
    }
}

impl Json<'_> {
    /// The canonical form: keys sorted, strings exact, numbers as source text, no space (design, promise 2).
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None);
        out
    }

    /// The form people read: indented by two, source order, numbers as source text.
    #[must_use]
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(0));
        out
    }

    /// Whether any object holds a key twice.
    #[must_use]
    pub fn has_double_keys(&self) -> bool {
        match self {
            Json::Object(pairs) if pairs.len() < 2 => pairs.iter().any(|(_, row)| row.has_double_keys()),
            Json::Object(pairs) => {
                let mut keys: Vec<&str> = pairs.iter().map(|(key, _)| key.as_str()).collect();
                keys.sort_unstable();
                keys.windows(2).any(|pair| pair.first() == pair.last())
                    || pairs.iter().any(|(_, row)| row.has_double_keys())
            }
            Json::Array(rows) => rows.iter().any(Json::has_double_keys),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
        }
    }

    /// The string under one of these keys of an object, the first that is there.
    #[must_use]
    pub fn string_at(&self, keys: &[&str]) -> Option<&str> {
        let Json::Object(pairs) = self else { return None };
        keys.iter().find_map(|wanted| {
            pairs.iter().find_map(|(key, row)| match row {
                Json::String(text) if key == wanted => Some(text.as_ref()),
                _ => None,
            })
        })
    }

    /// The first string of an object that says something.
    #[must_use]
    pub fn first_string(&self) -> Option<&str> {
        let Json::Object(pairs) = self else { return None };
        pairs.iter().find_map(|(_, row)| match row {
            Json::String(text) if !text.trim().is_empty() => Some(text.as_ref()),
            _ => None,
        })
    }

    fn write(&self, out: &mut String, indent: Option<usize>) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Number(text) => out.push_str(text),
            Json::String(text) => write_string(out, text),
            Json::Array(rows) => {
                write_rows(out, indent, ('[', ']'), rows.iter(), |out, row, inner| row.write(out, inner));
            }
            Json::Object(pairs) => {
                let mut order: Vec<&(String, Json<'_>)> = pairs.iter().collect();
                if indent.is_none() {
                    order.sort_by(|a, b| a.0.cmp(&b.0));
                }
                write_rows(out, indent, ('{', '}'), order.into_iter(), |out, (key, row), inner| {
                    write_string(out, key);
                    out.push_str(if inner.is_some() { ": " } else { ":" });
                    row.write(out, inner);
                });
            }
        }
    }
}

fn write_string(out: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        out.reserve(text.len() + 2);
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    // A string always serializes.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

fn write_rows<T>(
    out: &mut String,
    indent: Option<usize>,
    (open, close): (char, char),
    rows: impl ExactSizeIterator<Item = T>,
    mut write: impl FnMut(&mut String, T, Option<usize>),
) {
    out.push(open);
    let inner = indent.map(|depth| depth + 1);
    let empty = rows.len() == 0;
    for (index, row) in rows.enumerate() {
        if index > 0 {
            out.push(',');
        }
        new_line(out, inner);
        write(out, row, inner);
    }
    if !empty {
        new_line(out, indent);
    }
    out.push(close);
}

fn new_line(out: &mut String, indent: Option<usize>) {
    if let Some(depth) = indent {
        out.push('\n');
        for _ in 0..depth {
            out.push_str("  ");
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn numbers_are_never_rounded() {
        let text = r#"{"b": 9007199254740993, "a": 1.10e+2}"#;
        let json = read(text).unwrap();
        assert_eq!(json.canonical(), r#"{"a":1.10e+2,"b":9007199254740993}"#);
        assert_eq!(json.pretty(), "{\n  \"b\": 9007199254740993,\n  \"a\": 1.10e+2\n}");
    }

    #[test]
    fn double_keys_are_kept_and_told() {
        let json = read(r#"{"a":{"x":1,"x":2}}"#).unwrap();
        assert_eq!(json.canonical(), r#"{"a":{"x":1,"x":2}}"#);
        assert!(json.has_double_keys());
        assert!(!read(r#"{"a":1,"b":{"a":1}}"#).unwrap().has_double_keys());
    }

    #[test]
    fn escapes_mean_the_same_in_canonical_form() {
        assert_eq!(read(r#""\u0041/\/""#).unwrap().canonical(), read(r#""A//""#).unwrap().canonical());
    }

    #[test]
    fn too_deep_and_no_json_are_told_apart() {
        let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
        assert!(read(&deep).is_err());
        assert!(matches!(read("{oops"), Err(NotJson::Syntax(_))));
        assert!(matches!(read(r#""\ud800""#), Err(NotJson::Syntax(_))), "a lone surrogate is no text");
    }

    #[test]
    fn empty_rows_stay_on_one_line() {
        assert_eq!(read("{\"a\":[],\"b\":{}}").unwrap().pretty(), "{\n  \"a\": [],\n  \"b\": {}\n}");
    }
}
