//! Content blocks to parts: a string, an array of blocks, or one bare block (Qoder page, sections 4 and 14.19).

use contract::item::{Part, Text};

use super::wire::{Fields, elements, string};

/// The parts of raw `content`. Nothing is dropped: what is not known stays as raw JSON.
pub(super) fn parts(content: Option<&str>) -> Vec<Part> {
    let Some(content) = content else { return Vec::new() };
    match content.as_bytes().first() {
        Some(b'"') => {
            string(content).filter(|text| !text.is_empty()).map(|text| text_part(&text)).into_iter().collect()
        }
        Some(b'[') => elements(content).into_iter().map(block).collect(),
        _ => vec![block(content)],
    }
}

/// Text as a part.
pub(super) fn text_part(text: &str) -> Part {
    Part::Text(whole(text))
}

/// Text that is all there.
pub(super) fn whole(text: &str) -> Text {
    Text { text: text.to_owned(), chars: text.chars().count() as u64, handle: None }
}

/// All text of parts, joined as it stands.
pub(super) fn joined(parts: &[Part]) -> String {
    parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text.text.as_str()) } else { None }).collect()
}

fn block(raw: &str) -> Part {
    if let Some(text) = string(raw) {
        return text_part(&text);
    }
    let Ok(fields) = Fields::read(raw) else { return unknown("", raw) };
    let what = fields.text("type").unwrap_or_default();
    match &*what {
        "text" => fields.text("text").map_or_else(|| unknown(&what, raw), |text| text_part(&text)),
        "image" | "document" => sourced(&what, &fields).unwrap_or_else(|| unknown(&what, raw)),
        "redacted" => Part::Redacted,
        _ => unknown(&what, raw),
    }
}

/// An image or document: inside the event, behind an address, behind a file id, or plain text.
fn sourced(what: &str, fields: &Fields<'_>) -> Option<Part> {
    let source = fields.object("source")?;
    match &*source.text("type")? {
        "base64" if what == "image" => {
            let encoded = source.text("data")?;
            let padding = encoded.bytes().rev().take_while(|byte| *byte == b'=').count();
            // The decoded size, without decoding: four characters hold three bytes.
            let bytes = (encoded.len() / 4 * 3).saturating_sub(padding) as u64;
            let media_type = source.word("media_type").unwrap_or_else(|| "application/octet-stream".to_owned());
            Some(Part::Image { media_type, handle: encoded.into_owned(), bytes })
        }
        "url" => Some(Part::Remote { what: what.to_owned(), address: source.word("url")? }),
        "file" => Some(Part::Remote { what: what.to_owned(), address: source.word("file_id")? }),
        "text" => Some(text_part(&source.text("data")?)),
        _ => None,
    }
}

fn unknown(what: &str, raw: &str) -> Part {
    Part::Unknown { what: what.to_owned(), raw: whole(raw) }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn content_is_a_string_or_blocks_and_unknown_blocks_stay_raw() {
        assert_eq!(parts(Some(r#""plain""#)), [text_part("plain")]);
        assert_eq!(parts(Some(r#""""#)), []);
        assert_eq!(parts(Some("[]")), []);
        assert_eq!(parts(None), []);
        assert_eq!(
            parts(Some(r#"[{"type":"text","text":"a"},{"type":"redacted"},{"type":"json","json":{"n":1.50}},7]"#)),
            [
                text_part("a"),
                Part::Redacted,
                Part::Unknown { what: "json".into(), raw: whole(r#"{"type":"json","json":{"n":1.50}}"#) },
                Part::Unknown { what: String::new(), raw: whole("7") },
            ]
        );
    }

    #[test]
    fn images_and_documents_say_where_they_lie() {
        let content = r#"[
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},
            {"type":"image","source":{"type":"url","url":"https://example.test/a.png"}},
            {"type":"document","source":{"type":"file","file_id":"file_1"}},
            {"type":"document","source":{"type":"text","data":"hello"}}]"#;
        assert_eq!(
            parts(Some(content)),
            [
                Part::Image { media_type: "image/png".into(), handle: "AAAA".into(), bytes: 3 },
                Part::Remote { what: "image".into(), address: "https://example.test/a.png".into() },
                Part::Remote { what: "document".into(), address: "file_1".into() },
                text_part("hello"),
            ]
        );
    }
}
