//! History as it is asked for: all of it, compacted, a range of it, or a page from its end (§2.4, §3 and §4). Pure.

use serde::Serialize;

use super::shape::{Block, Content, Entry, Message, Part};

/// How many messages a compacted history keeps.
const KEPT: usize = 12;

/// How many characters of a tool's result it keeps.
const SHOWN: usize = 120;

/// The exact messages, oldest first.
pub(crate) fn full(history: &[Entry]) -> Vec<Message> {
    history.iter().map(|entry| entry.message.clone()).collect()
}

fn without_thinking(content: Content) -> Content {
    match content {
        Content::Blocks(blocks) => {
            let thought = |block: &Block| matches!(block, Block::Known(Part::Thinking { .. }));
            Content::Blocks(blocks.into_iter().filter(|block| !thought(block)).collect())
        }
        text @ Content::Text(_) => text,
    }
}

fn short(content: Content) -> Content {
    match content {
        Content::Text(text) if text.chars().count() > SHOWN => {
            Content::Text(text.chars().take(SHOWN).chain(std::iter::once('…')).collect())
        }
        other => other,
    }
}

/// A summary, then the newest messages: without thinking, long results cut. It may begin with the result of a call it
/// does not have.
pub(crate) fn compacted(history: &[Entry]) -> Vec<Message> {
    let left_out = history.len().saturating_sub(KEPT);
    let summary = (left_out > 0)
        .then(|| Message::of("system", Content::Text(format!("Summary of {left_out} earlier messages."))));
    let kept = history.iter().skip(left_out).map(|entry| {
        let Message { role, tool_call_id, content } = entry.message.clone();
        let content = if role == "tool" { short(content) } else { without_thinking(content) };
        Message { role, tool_call_id, content }
    });
    summary.into_iter().chain(kept).collect()
}

/// Which messages a range names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Range {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) total: usize,
}

/// Zero-based, end exclusive; negative numbers count from the end; clamped. `None` = the end is before the start.
pub(crate) fn range(total: usize, start: Option<i64>, end: Option<i64>) -> Option<Range> {
    let place = |at: i64| {
        let from_end = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
        if at < 0 { total.saturating_sub(from_end) } else { from_end.min(total) }
    };
    let (start, end) = (start.map_or(0, place), end.map_or(total, place));
    (start <= end).then_some(Range { start, end, total })
}

/// A page of v4, newest first, and the cursor of the next one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Page {
    pub(crate) history: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
}

/// The page before a cursor; `None` = there is no such cursor.
pub(crate) fn page(history: &[Entry], before: Option<&str>, size: usize) -> Option<Page> {
    let end = match before {
        None => history.len(),
        Some(cursor) => {
            let id = cursor.strip_prefix("before_")?;
            history.iter().position(|entry| entry.id == id)?
        }
    };
    let start = end.saturating_sub(size.max(1));
    let entries: Vec<Entry> = history.get(start..end)?.iter().rev().cloned().collect();
    let before = (start > 0).then(|| entries.last().map(|oldest| format!("before_{}", oldest.id))).flatten();
    Some(Page { history: entries, before })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn entries(count: usize) -> Vec<Entry> {
        let entry = |at: usize| Entry {
            id: format!("msg_{at}"),
            timestamp: "t".into(),
            message: Message::of("user", Content::Text(at.to_string())),
        };
        (0..count).map(entry).collect()
    }

    #[test]
    fn ranges_count_from_both_ends_and_are_clamped() {
        let of = |start, end| range(10, start, end).map(|range| (range.start, range.end));
        assert_eq!(of(None, None), Some((0, 10)));
        assert_eq!(of(Some(-3), None), Some((7, 10)));
        assert_eq!(of(Some(2), Some(-2)), Some((2, 8)));
        assert_eq!(of(Some(-50), Some(99)), Some((0, 10)));
        assert_eq!(of(Some(5), Some(4)), None);
    }

    #[test]
    fn pages_go_back_to_the_first_message_and_stop_there() {
        let history = entries(5);
        let ids = |page: &Page| page.history.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
        let newest = page(&history, None, 2).unwrap();
        assert_eq!(ids(&newest), ["msg_4", "msg_3"]);
        let older = page(&history, newest.before.as_deref(), 2).unwrap();
        let oldest = page(&history, older.before.as_deref(), 2).unwrap();
        assert_eq!((ids(&oldest), oldest.before), (vec!["msg_0".to_owned()], None));
        assert_eq!(page(&history, Some("before_gone"), 2), None);
    }

    #[test]
    fn a_compacted_history_says_how_much_it_leaves_out() {
        let mut history = entries(14);
        history[13].message = Message::tool("call_1", Content::Text("x".repeat(500)));
        let short = compacted(&history);
        assert_eq!((short.len(), short[0].content.text().as_str()), (13, "Summary of 2 earlier messages."));
        assert_eq!(short[12].content.text().chars().count(), SHOWN + 1);
        assert_eq!(compacted(&history[..3]), full(&history[..3]));
    }
}
