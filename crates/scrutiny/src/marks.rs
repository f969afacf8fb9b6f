//! What a reader would not see, or would take for something else. Nothing is ever stripped: a mark says where it is,
//! and the page draws it there as a code point.
//!
//! What belongs to writing is not marked: emoji sequences (joiners, variation selectors, flags), joiners between letters
//! of scripts that need them, Chinese, Japanese and Korean, right-to-left prose without controls.

use unicode_script::{Script, UnicodeScript};
use unicode_security::skeleton;

use crate::types::{Mark, MarkKind};

/// Spaces in a row up to this many are layout.
const SPACES: usize = 40;
/// Blank lines in a row up to this many are layout.
const BLANK_LINES: usize = 5;
/// More characters than this are very long.
const LONG_CHARS: usize = 16_000;
/// More lines than this are very long.
const LONG_LINES: usize = 200;

/// Every mark of a text, in order.
#[must_use]
pub fn marks(text: &str) -> Vec<Mark> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    unseen(&chars, &mut found);
    padding(&chars, &mut found);
    look_alikes(&chars, &mut found);
    if chars.len() > LONG_CHARS || chars.iter().filter(|c| **c == '\n').count() >= LONG_LINES {
        found.push(mark(MarkKind::VeryLong, 0, chars.len()));
    }
    found.sort_by_key(|mark| (mark.from, mark.kind));
    found
}

/// Whether a text hides something: any mark but that it is long.
#[must_use]
pub fn is_hiding(text: &str) -> bool {
    marks(text).iter().any(|mark| mark.kind != MarkKind::VeryLong)
}

/// Whether a text holds characters that are not seen, or that change how others are.
#[must_use]
pub fn hides_characters(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    unseen(&chars, &mut found);
    !found.is_empty()
}

fn mark(kind: MarkKind, from: usize, chars: usize) -> Mark {
    Mark { kind, from: from as u64, chars: chars as u64 }
}

fn unseen(chars: &[char], found: &mut Vec<Mark>) {
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
        let after = chars.get(at + 1).copied();
        let mut length = 1;
        let kind = if c == '\u{1b}' || c == '\u{9b}' {
            length = escape_length(chars.get(at..).unwrap_or_default());
            Some(MarkKind::TerminalEscape)
        } else {
            unseen_kind(c, before, after, chars, at)
        };
        if let Some(kind) = kind {
            found.push(mark(kind, at, length));
        }
        at += length;
    }
}

fn unseen_kind(c: char, before: Option<char>, after: Option<char>, chars: &[char], at: usize) -> Option<MarkKind> {
    match c {
        '\n' | '\t' => None,
        // A line end of other systems; alone it returns to the line's begin and hides what was written.
        '\r' if after == Some('\n') => None,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Some(MarkKind::Control),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => Some(MarkKind::Bidi),
        '\u{200d}' if joins_emoji(before, after) || joins_letters(before, after) => None,
        '\u{200c}' if joins_letters(before, after) => None,
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => Some(MarkKind::ZeroWidth),
        '\u{fe0e}' | '\u{fe0f}' if before.is_some_and(takes_variation) => None,
        '\u{e0020}'..='\u{e007f}' if is_flag(chars, at) => None,
        '\u{e0000}'..='\u{e007f}' => Some(MarkKind::Tag),
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' if before.is_some_and(is_ideograph) => None,
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2061}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0080}'..='\u{e0fff}' => Some(MarkKind::Invisible),
        // Room that is not the space bar's: a word may end where none seems to.
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' => Some(MarkKind::Invisible),
        _ => None,
    }
}

/// An escape sequence: CSI up to its final byte, OSC and the like up to their end, else two characters.
fn escape_length(chars: &[char]) -> usize {
    let (opens, rest) = match chars {
        ['\u{1b}', '[', rest @ ..] => (2, rest),
        ['\u{9b}', rest @ ..] => (1, rest),
        ['\u{1b}', ']' | 'P' | 'X' | '^' | '_', rest @ ..] => {
            let end = rest.iter().position(|c| matches!(c, '\u{7}' | '\u{1b}' | '\u{9c}'));
            let closes = match end.map(|end| (end, rest.get(end..).unwrap_or_default())) {
                Some((end, ['\u{1b}', '\\', ..])) => end + 2,
                Some((end, ['\u{1b}', ..])) => end,
                Some((end, _)) => end + 1,
                None => rest.len(),
            };
            return 2 + closes;
        }
        _ => return chars.len().min(2),
    };
    let end = rest.iter().position(|c| matches!(c, '\u{40}'..='\u{7e}') || *c == '\n');
    opens + end.map_or(rest.len(), |end| end + usize::from(rest.get(end) != Some(&'\n')))
}

fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2194}'..='\u{21aa}'
        | '\u{231a}'..='\u{23ff}' | '\u{24c2}' | '\u{25aa}'..='\u{27bf}' | '\u{2934}' | '\u{2935}'
        | '\u{2b05}'..='\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

fn takes_variation(c: char) -> bool {
    is_emoji(c) || matches!(c, '#' | '*' | '0'..='9') || is_ideograph(c)
}

fn is_ideograph(c: char) -> bool {
    matches!(c.script(), Script::Han | Script::Mongolian | Script::Phags_Pa | Script::Myanmar)
}

fn joins_emoji(before: Option<char>, after: Option<char>) -> bool {
    let left = before.is_some_and(|c| is_emoji(c) || matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}'));
    left && after.is_some_and(is_emoji)
}

/// Scripts whose letters take another form beside a joiner.
fn joins_letters(before: Option<char>, after: Option<char>) -> bool {
    let joins = |c: char| {
        matches!(
            c.script(),
            Script::Arabic
                | Script::Syriac
                | Script::Nko
                | Script::Mongolian
                | Script::Devanagari
                | Script::Bengali
                | Script::Gurmukhi
                | Script::Gujarati
                | Script::Oriya
                | Script::Tamil
                | Script::Telugu
                | Script::Kannada
                | Script::Malayalam
                | Script::Sinhala
                | Script::Khmer
                | Script::Inherited
        )
    };
    before.is_some_and(joins) && after.is_none_or(|after| joins(after) || after.is_whitespace())
}

/// A tag sequence that spells the flag of a region: begun by the black flag, ended by the cancel tag.
fn is_flag(chars: &[char], at: usize) -> bool {
    let is_tag = |c: &&char| ('\u{e0020}'..='\u{e007f}').contains(*c);
    let begin = at - chars.get(..at).unwrap_or_default().iter().rev().take_while(is_tag).count();
    let flag = begin.checked_sub(1).and_then(|at| chars.get(at)) == Some(&'\u{1f3f4}');
    let tags: Vec<char> = chars.get(begin..).unwrap_or_default().iter().take_while(is_tag).copied().collect();
    flag && tags.len() <= 7 && tags.last() == Some(&'\u{e007f}')
}

fn padding(chars: &[char], found: &mut Vec<Mark>) {
    runs(
        chars,
        |c| c == ' ' || c == '\t',
        |from, length| {
            if length > SPACES {
                found.push(mark(MarkKind::LongSpaces, from, length));
            }
        },
    );
    runs(
        chars,
        |c| matches!(c, ' ' | '\t' | '\n' | '\r'),
        |from, length| {
            let run = chars.get(from..from + length).unwrap_or_default();
            if run.iter().filter(|c| **c == '\n').count() > BLANK_LINES + 1 {
                found.push(mark(MarkKind::BlankLines, from, length));
            }
        },
    );
}

fn runs(chars: &[char], belongs: impl Fn(char) -> bool, mut each: impl FnMut(usize, usize)) {
    let mut at = 0;
    while at < chars.len() {
        let length = chars.get(at..).unwrap_or_default().iter().take_while(|c| belongs(**c)).count();
        if length > 0 {
            each(at, length);
        }
        at += length.max(1);
    }
}

/// Words in which letters of several scripts stand together, and hosts and paths that read as plain Latin but are not.
fn look_alikes(chars: &[char], found: &mut Vec<Mark>) {
    if chars.iter().all(char::is_ascii) {
        return;
    }
    let in_token =
        |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '`' | '(' | ')' | '<' | '>' | '|' | ';' | '&' | ',');
    runs(chars, in_token, |from, length| {
        let token = chars.get(from..from + length).unwrap_or_default();
        let is_address = token.windows(3).any(|w| w == [':', '/', '/'])
            || token.contains(&'/')
            || token.contains(&'.')
            || token.contains(&'@');
        runs(token, char::is_alphanumeric, |begin, length| {
            let word = token.get(begin..begin + length).unwrap_or_default();
            for (at, _) in word.iter().enumerate().filter(|(_, c)| is_look_alike(**c, word, is_address)) {
                found.push(mark(MarkKind::LookAlike, from + begin + at, 1));
            }
        });
        for (at, c) in token.iter().enumerate() {
            // Signs that read as the ones a shell or an address is made of.
            if matches!(
                c,
                '\u{2044}'
                    | '\u{2215}'
                    | '\u{29f8}'
                    | '\u{ff0f}'
                    | '\u{2024}'
                    | '\u{fe52}'
                    | '\u{ff0e}'
                    | '\u{ff1a}'
                    | '\u{2236}'
                    | '\u{a789}'
                    | '\u{ff5c}'
                    | '\u{ff1b}'
                    | '\u{37e}'
                    | '\u{ff06}'
                    | '\u{ff04}'
                    | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ff0d}'
            ) && token.iter().any(|c| c.is_ascii_alphanumeric() || *c == '-')
                && !token
                    .iter()
                    .any(|c| matches!(c.script(), Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul))
                && looks_technical(token, at)
            {
                found.push(mark(MarkKind::LookAlike, from + at, 1));
            }
        }
    });
}

/// A dash between words of prose is one; at the begin of a word it reads as an option, and the other signs never
/// stand inside a word of prose.
fn looks_technical(token: &[char], at: usize) -> bool {
    let dash = |c: char| matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ff0d}');
    match token.get(at) {
        Some(c) if dash(*c) => at == 0 && token.len() > 1,
        _ => at > 0 && at + 1 < token.len(),
    }
}

fn is_look_alike(c: char, word: &[char], is_address: bool) -> bool {
    if c.is_ascii() {
        return false;
    }
    // Letters dressed as plain ones: full width, mathematical, enclosed.
    let dressed = matches!(c, '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' | '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f189}');
    if dressed {
        return word.iter().any(|c| c.is_ascii()) || is_address || word.len() > 1;
    }
    if !matches!(
        c.script(),
        Script::Cyrillic | Script::Greek | Script::Armenian | Script::Cherokee | Script::Coptic | Script::Lisu
    ) {
        // Latin letters beyond ASCII that are drawn as ASCII ones (ɡ, ɑ, ı).
        return c.script() == Script::Latin && is_address && reads_as_ascii(&[c]) && c != 'ı';
    }
    let mixed = word.iter().any(|c| c.script() == Script::Latin);
    let one_of_few = mixed && reads_as_ascii(&[c]);
    one_of_few || (is_address && !mixed && reads_as_ascii(word))
}

fn reads_as_ascii(word: &[char]) -> bool {
    let text: String = word.iter().collect();
    let mut shape = skeleton(&text).peekable();
    shape.peek().is_some() && shape.all(|c| c.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<MarkKind> {
        let mut kinds: Vec<MarkKind> = marks(text).iter().map(|mark| mark.kind).collect();
        kinds.dedup();
        kinds
    }

    #[test]
    fn what_is_not_seen_is_marked_where_it_stands() {
        assert_eq!(marks("a\u{202e}b"), [Mark { kind: MarkKind::Bidi, from: 1, chars: 1 }]);
        assert_eq!(marks("东\u{200b}京"), [Mark { kind: MarkKind::ZeroWidth, from: 1, chars: 1 }]);
        assert_eq!(kinds("ls\u{e0041}\u{e0042}"), [MarkKind::Tag]);
        assert_eq!(kinds("a\u{8}b"), [MarkKind::Control]);
        assert_eq!(kinds("a\u{3164}b"), [MarkKind::Invisible]);
        assert_eq!(kinds("rm\u{a0}-rf"), [MarkKind::Invisible]);
        assert_eq!(kinds("safe\rrm -rf /"), [MarkKind::Control]);
    }

    #[test]
    fn an_escape_sequence_is_one_mark() {
        assert_eq!(marks("a\u{1b}[2Kb"), [Mark { kind: MarkKind::TerminalEscape, from: 1, chars: 4 }]);
        assert_eq!(marks("\u{1b}]8;;http://x\u{7}y"), [Mark { kind: MarkKind::TerminalEscape, from: 0, chars: 14 }]);
        assert_eq!(marks("\u{1b}]52;c;aGk=\u{1b}\\z"), [Mark { kind: MarkKind::TerminalEscape, from: 0, chars: 13 }]);
        assert_eq!(marks("\u{9b}1mx"), [Mark { kind: MarkKind::TerminalEscape, from: 0, chars: 3 }]);
    }

    #[test]
    fn padding_is_marked_from_one_over_the_limit() {
        assert_eq!(kinds(&format!("a{}b", " ".repeat(40))), []);
        assert_eq!(kinds(&format!("a{}b", " ".repeat(41))), [MarkKind::LongSpaces]);
        assert_eq!(kinds(&format!("a{}b", "\n".repeat(6))), []);
        assert_eq!(kinds(&format!("a{}b", "\n".repeat(7))), [MarkKind::BlankLines]);
        assert_eq!(kinds(&format!("a{}b", "\n \t".repeat(7))), [MarkKind::BlankLines]);
        assert_eq!(kinds(&"x".repeat(16_001)), [MarkKind::VeryLong]);
    }

    #[test]
    fn letters_that_look_like_others_are_marked_in_words_hosts_and_paths() {
        assert_eq!(kinds("curl https://p\u{430}ypal.com"), [MarkKind::LookAlike]);
        assert_eq!(kinds("https://\u{430}\u{440}\u{440}\u{4cf}\u{435}.com/login"), [MarkKind::LookAlike]);
        assert_eq!(kinds("/etc/p\u{430}sswd"), [MarkKind::LookAlike]);
        assert_eq!(kinds("\u{ff52}\u{ff4d} -rf x"), [MarkKind::LookAlike]);
        assert_eq!(kinds("https:\u{2215}\u{2215}evil.example"), [MarkKind::LookAlike]);
        assert_eq!(kinds("rm \u{2013}rf x"), [MarkKind::LookAlike]);
    }

    #[test]
    fn writing_is_not_marked() {
        for text in [
            "东京天气 🌤️ ok",
            "👩‍👩‍👧 family 👍🏽",
            "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} England",
            "1️⃣ first",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "שלום עולם",
            "مرحبا بالعالم",
            "Привет, мир! Это обычный текст.",
            "Ελληνικά και λατινικά",
            "naïve café — a dash – and “quotes”",
            "日本語、テスト。",
            "한국어 문장",
            "a\r\nb\r\n",
            "/home/用户/文件.txt",
            "https://例子.测试/路径",
            "файл.txt",
            "größe.txt",
            "İstanbul ısı",
        ] {
            assert_eq!(kinds(text), [], "{text:?}");
        }
    }
}
