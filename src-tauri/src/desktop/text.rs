//! An agent's text as a notification shows it: nothing in it is obeyed, nothing is hidden, and it has an end.

/// The longest title, in characters.
const TITLE_CAP: usize = 80;
/// The longest text, in characters.
const BODY_CAP: usize = 400;
/// The most lines of a text.
const LINES_CAP: usize = 8;

/// One line.
pub(super) fn title(text: &str) -> String {
    shown(text, TITLE_CAP, 1)
}

/// A few lines.
pub(super) fn body(text: &str) -> String {
    shown(text, BODY_CAP, LINES_CAP)
}

/// Control characters, and those that are drawn as nothing or turn the reading direction, are written as `\u{…}`. What
/// emoji and Arabic are joined with stays. What goes over a cap is cut at a mark.
fn shown(text: &str, cap: usize, lines: usize) -> String {
    let mut shown = String::new();
    let mut line = 1;
    for (count, c) in text.trim().chars().enumerate() {
        if count == cap {
            shown.push('…');
            break;
        }
        match c {
            '\n' if lines > 1 && line == lines => {
                shown.push('…');
                break;
            }
            '\n' if lines > 1 => {
                line += 1;
                shown.push('\n');
            }
            '\t' => shown.push(' '),
            '\n' | '\r' => shown.extend(c.escape_default()),
            c if c.is_control() || is_invisible(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn control_and_invisible_characters_are_shown_and_not_obeyed() {
        assert_eq!(body("a\u{1b}[31mb\u{7}c\rd\u{0}"), "a\\u{1b}[31mb\\u{7}c\\rd\\u{0}");
        assert_eq!(body("txt.\u{202e}gpj\u{200b}"), "txt.\\u{202e}gpj\\u{200b}");
        assert_eq!(title("one\ntwo\tthree"), "one\\ntwo three");
        assert_eq!(body("one\ntwo"), "one\ntwo");
    }

    #[test]
    fn emoji_arabic_and_chinese_stay_readable() {
        for text in ["👩‍💻 done ✔️", "مرحبا بالعالم", "东京天气：晴"] {
            assert_eq!(body(text), text);
        }
    }

    #[test]
    fn a_long_text_ends_at_a_mark() {
        assert_eq!(title(&"a".repeat(80)), "a".repeat(80));
        assert_eq!(title(&"a".repeat(81)), format!("{}…", "a".repeat(80)));
        assert_eq!(body(&"中".repeat(1000)), format!("{}…", "中".repeat(400)));
        assert_eq!(body(&"x\n".repeat(20)).lines().count(), 8);
        assert!(body(&"x\n".repeat(20)).ends_with("x…"));
    }
}
