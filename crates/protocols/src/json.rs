//! Reading an event's JSON: leniently, in one pass, with every value kept as the text that was received.
//!
//! No number is ever rounded and no argument re-written: values stay raw JSON until someone needs a string of them.
//! A missing field, `null`, or a value of an unexpected type reads as absent, never as an error.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The fields of a JSON object in order, values raw. A name that stands twice: the last one counts, as in every
/// common reader.
#[derive(Debug)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Reads an object. Fails on invalid JSON and on every other value.
    pub(crate) fn read(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// A field's raw JSON; absent where it is `null`.
    pub(crate) fn raw(&self, name: &str) -> Option<&'a str> {
        let (_, raw) = self.0.iter().rev().find(|(field, _)| field == name)?;
        (raw.get() != "null").then(|| raw.get())
    }

    /// Whether a field stands there at all, `null` included.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(field, _)| &**field)
    }

    /// How often a name stands there.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|(field, _)| field == name).count()
    }

    /// A string field.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        string(self.raw(name)?)
    }

    /// A string field that is not empty.
    pub(crate) fn word(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty()).map(Cow::into_owned)
    }

    /// A string, or a number as its source text: ids of clones are integers.
    pub(crate) fn number_or_text(&self, name: &str) -> Option<String> {
        let raw = self.raw(name)?;
        if raw.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return Some(raw.to_owned());
        }
        string(raw).filter(|text| !text.is_empty()).map(Cow::into_owned)
    }

    /// An object field.
    pub(crate) fn object(&self, name: &str) -> Option<Fields<'a>> {
        Fields::read(self.raw(name)?).ok()
    }

    /// A boolean field.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.raw(name)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// An unsigned integer field.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.raw(name)?.parse().ok()
    }

    /// The strings of an array field; what is no string is left out.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        self.raw(name)
            .map(elements)
            .unwrap_or_default()
            .into_iter()
            .filter_map(|element| string(element).map(Cow::into_owned))
            .collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Object<'a> {
            type Value = Fields<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(10);
                while let Some(Name(name)) = map.next_key()? {
                    fields.push((name, map.next_value::<&'a RawValue>()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object(std::marker::PhantomData))
    }
}

/// A field's name, borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_of(deserializer).map(Name)
    }
}

/// A string, borrowed where it has no escapes. Serde's own `Cow` always copies.
pub(crate) fn text_of<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'a, str>, D::Error> {
    struct Str<'a>(std::marker::PhantomData<&'a ()>);
    impl<'de: 'a, 'a> Visitor<'de> for Str<'a> {
        type Value = Cow<'a, str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(text))
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Cow::Owned(text.to_owned()))
        }

        fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
            Ok(Cow::Owned(text))
        }
    }
    deserializer.deserialize_str(Str(std::marker::PhantomData))
}

/// A raw JSON string's text; `None` where the value is no string.
pub(crate) fn string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    match serde_json::from_str::<String>(raw) {
        Ok(text) => Some(Cow::Owned(text)),
        Err(_) => Some(Cow::Owned(unescape(inner))),
    }
}

/// Undoes JSON escapes where serde_json will not: half of a surrogate pair (servers written in JavaScript cut text
/// between the halves) becomes U+FFFD, as a browser would show it.
fn unescape(inner: &str) -> String {
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        let mut after = escape.chars();
        after.next();
        let named = after.next();
        rest = after.as_str();
        match named {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some('u') => {
                let Some((high, more)) = unit(rest) else {
                    text.push(char::REPLACEMENT_CHARACTER);
                    continue;
                };
                rest = more;
                let low = rest.strip_prefix("\\u").and_then(unit).filter(|(low, _)| (0xDC00..0xE000).contains(low));
                if let (0xD800..0xDC00, Some((low, more))) = (high, low) {
                    rest = more;
                    let scalar = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                    text.push(char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER));
                } else {
                    text.push(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
            Some(other) => text.push(other),
            None => {}
        }
    }
    text.push_str(rest);
    text
}

/// Four hexadecimal digits and what follows them.
fn unit(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}

/// The elements of a raw JSON array; empty where the value is no array.
pub(crate) fn elements(raw: &str) -> Vec<&str> {
    serde_json::from_str::<Vec<&RawValue>>(raw)
        .map(|all| all.into_iter().map(RawValue::get).collect())
        .unwrap_or_default()
}

/// The string value of a top-level field in the beginning of an object that was cut off.
pub(crate) fn leading_string(beginning: &str, name: &str) -> Option<String> {
    let bytes = beginning.as_bytes();
    let (mut depth, mut at) = (0_usize, 0_usize);
    let mut last_name: Option<&str> = None;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(bytes, at + 1)?;
                let inner = beginning.get(at + 1..end)?;
                if depth == 1 {
                    match last_name.take() {
                        Some(field) if field == name => {
                            return string(beginning.get(at..=end)?)
                                .filter(|text| !text.is_empty())
                                .map(Cow::into_owned);
                        }
                        Some(_) => {}
                        None => last_name = Some(inner),
                    }
                }
                at = end;
            }
            b',' if depth == 1 => last_name = None,
            _ => {}
        }
        at += 1;
    }
    None
}

fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stay_exactly_as_received() {
        let fields = Fields::read(r#"{"input": {"n": 12345678901234567890.123450, "s" : "\u0041"} ,"id":1}"#).unwrap();
        assert_eq!(fields.raw("input"), Some(r#"{"n": 12345678901234567890.123450, "s" : "\u0041"}"#));
    }

    #[test]
    fn null_and_wrong_types_read_as_absent() {
        let fields = Fields::read(r#"{"a":null,"b":7,"c":"x","d":[1,"y",null]}"#).unwrap();
        assert_eq!(fields.raw("a"), None);
        assert!(fields.has("a"));
        assert_eq!(fields.text("b"), None);
        assert_eq!(fields.number_or_text("b"), Some("7".to_owned()));
        assert_eq!(fields.flag("c"), None);
        assert_eq!(fields.texts("d"), ["y"]);
    }

    #[test]
    fn half_of_a_surrogate_pair_is_replaced_and_whole_ones_are_joined() {
        assert_eq!(string(r#""a\ud83d""#).unwrap(), "a\u{fffd}");
        assert_eq!(string(r#""\ud83dx\ud83d\ude00\n\"\\\u00e9""#).unwrap(), "\u{fffd}x😀\n\"\\é");
        assert_eq!(string(r#""\ud83d\u0041""#).unwrap(), "\u{fffd}A");
    }

    #[test]
    fn a_lone_surrogate_inside_an_input_does_not_hide_the_event() {
        let fields = Fields::read(r#"{"type":"agent.tool_use","input":{"command":"echo \ud83d"}}"#).unwrap();
        assert_eq!(fields.object("input").unwrap().text("command").unwrap(), "echo \u{fffd}");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "[1]", "\"x\"", "{", "{\"a\":1} x", "nonsense"] {
            assert!(Fields::read(text).is_err(), "{text}");
        }
    }
}
