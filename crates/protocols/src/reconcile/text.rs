//! Texts as they are compared: without white space.

/// The text without white space.
pub(super) fn bare(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

/// What stands behind the first `bytes` bytes that count in the bare text, white space before it included.
pub(super) fn rest_after(text: &str, bytes: usize) -> &str {
    let mut counted = 0;
    for (at, character) in text.char_indices() {
        if counted >= bytes {
            return text.get(at..).unwrap_or_default();
        }
        if !character.is_whitespace() {
            counted += character.len_utf8();
        }
    }
    ""
}
