//! What one line of an event stream is (WHATWG HTML 9.2.6), as far as the splitter must know.

use std::time::Duration;

/// One line without its end. Values have lost the one space that may follow the colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Blank,
    Comment,
    Data(&'a [u8]),
    Event(&'a [u8]),
    Id(&'a [u8]),
    Retry(&'a [u8]),
    Other,
}

#[inline]
pub(super) fn classify(line: &[u8]) -> Line<'_> {
    let kind = match line.first() {
        None => Some(Line::Blank),
        Some(b':') => Some(Line::Comment),
        Some(b'd') => field(line, b"data").map(Line::Data),
        Some(b'e') => field(line, b"event").map(Line::Event),
        Some(b'i') => field(line, b"id").map(Line::Id),
        Some(b'r') => field(line, b"retry").map(Line::Retry),
        Some(_) => None,
    };
    kind.unwrap_or(Line::Other)
}

fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

/// The reconnection time: ASCII digits only, so no sign and no fraction. More than fits is the longest that does.
pub(super) fn retry(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let ms = value.iter().fold(0u64, |ms, digit| ms.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(Duration::from_millis(ms))
}

/// The last id of a block that the standard accepts: one without NUL.
pub(super) fn last_id(block: &[u8]) -> Option<String> {
    block.rsplit(|&byte| byte == b'\n').find_map(|line| match classify(line) {
        Line::Id(id) if !id.contains(&0) => Some(String::from_utf8_lossy(id).into_owned()),
        _ => None,
    })
}
