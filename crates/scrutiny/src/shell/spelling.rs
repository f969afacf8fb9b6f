//! How a word can be spelled: escapes, and codes for letters.

/// A word without its escapes.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(c) => out.push(c),
            },
            c => out.push(c),
        }
    }
    out
}

/// `$'…'`: codes for letters become the letters.
pub(super) fn decoded(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let (radix, most) = match chars.next() {
            Some('x') => (16, 2),
            Some('u') => (16, 4),
            Some('U') => (16, 8),
            Some(digit @ '0'..='7') => {
                let mut code = digit.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(next) = chars.peek().and_then(|c| c.to_digit(8)) else { break };
                    code = code * 8 + next;
                    chars.next();
                }
                out.extend(char::from_u32(code));
                continue;
            }
            Some('n') => {
                out.push('\n');
                continue;
            }
            Some('t') => {
                out.push('\t');
                continue;
            }
            Some(c) => {
                out.push(c);
                continue;
            }
            None => break,
        };
        let mut code = 0;
        for _ in 0..most {
            let Some(next) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
            code = code * radix + next;
            chars.next();
        }
        out.extend(char::from_u32(code));
    }
    out
}
