//! Where the words stand in a text: the match with some characters around it, whatever the case.

use contract::{item::ItemId, search::HistoryPlace};

/// Characters shown before and after a match.
const AROUND: usize = 40;

/// The first place of the whole query, else of its first word that is there. A text in which the index folds more
/// than this does (rare scripts) shows its beginning.
pub(crate) fn place(item: Option<ItemId>, text: &str, query: &str, words: &[&str]) -> HistoryPlace {
    let found = find(text, query).or_else(|| words.iter().find_map(|word| find(text, word)));
    let (start, end) = found.unwrap_or((0, 0));
    let (head, rest) = text.split_at_checked(start).unwrap_or((text, ""));
    let (matched, tail) = rest.split_at_checked(end - start).unwrap_or((rest, ""));
    HistoryPlace {
        item,
        before: last_chars(head, AROUND).to_owned(),
        matched: matched.to_owned(),
        after: first_chars(tail, AROUND).to_owned(),
    }
}

/// Whether every word stands in the text.
pub(crate) fn has_all(text: &str, words: &[&str]) -> bool {
    words.iter().all(|word| find(text, word).is_some())
}

/// The bytes of the first match, case folded character by character.
fn find(text: &str, needle: &str) -> Option<(usize, usize)> {
    let needle: Vec<char> = needle.chars().flat_map(char::to_lowercase).collect();
    let first = *needle.first()?;
    text.char_indices()
        .filter(|(_, c)| *c == first || c.to_lowercase().next() == Some(first))
        .find_map(|(start, _)| match_at(text, start, &needle).map(|end| (start, end)))
}

/// Where the match ends that begins at `start`.
fn match_at(text: &str, start: usize, needle: &[char]) -> Option<usize> {
    let mut wanted = needle.iter();
    for (offset, c) in text.get(start..)?.char_indices() {
        for folded in c.to_lowercase() {
            if wanted.next() != Some(&folded) {
                return None;
            }
        }
        if wanted.as_slice().is_empty() {
            return Some(start + offset + c.len_utf8());
        }
    }
    None
}

fn first_chars(text: &str, count: usize) -> &str {
    let end = text.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

fn last_chars(text: &str, count: usize) -> &str {
    let start = text.char_indices().rev().nth(count.saturating_sub(1)).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(text: &str, query: &str) -> (String, String, String) {
        let words: Vec<&str> = query.split_whitespace().collect();
        let place = place(None, text, query, &words);
        (place.before, place.matched, place.after)
    }

    #[test]
    fn the_match_keeps_its_own_case() {
        assert_eq!(around("Run CARGO Test now", "cargo test"), ("Run ".into(), "CARGO Test".into(), " now".into()));
        assert_eq!(around("ÉCOLE", "école"), (String::new(), "ÉCOLE".into(), String::new()));
        assert_eq!(around("İstanbul", "stan"), ("İ".into(), "stan".into(), "bul".into()));
    }

    #[test]
    fn words_apart_show_the_first_of_them() {
        assert_eq!(around("alpha beta gamma", "gamma alpha"), ("alpha beta ".into(), "gamma".into(), String::new()));
    }

    #[test]
    fn only_forty_characters_stand_around_a_match() {
        let text = format!("{}东京{}", "前".repeat(100), "后".repeat(100));
        let (before, matched, after) = around(&text, "东京");
        assert_eq!((before.chars().count(), matched.as_str(), after.chars().count()), (40, "东京", 40));
    }

    #[test]
    fn a_false_start_is_passed_over() {
        assert_eq!(around("aab", "ab"), ("a".into(), "ab".into(), String::new()));
    }
}
