//! Pages of lists: `limit`, `page`, `after_id`, `before_id`, `order` (wire page §2 and §5; Claude page §3).

use serde_json::{Value, json};

use super::{Pairs, Refusal, first};
use crate::manner::Dialect;

/// Which rows of a list a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// Indexes into the list, in the order of the answer.
    pub(crate) rows: Vec<usize>,
    first: Option<String>,
    last: Option<String>,
    next: Option<String>,
    previous: Option<String>,
}

fn limit(pairs: &Pairs, dialect: Dialect) -> Result<usize, Refusal> {
    let most = match dialect {
        Dialect::Qoder => 100,
        Dialect::Claude => 1000,
    };
    let Some(text) = first(pairs, "limit") else { return Ok(20) };
    match text.parse::<usize>() {
        Ok(limit) if (1..=most).contains(&limit) => Ok(limit),
        _ => Err(Refusal::invalid(format!("limit: must be 1 to {most}"), "limit")),
    }
}

/// An opaque cursor.
fn seal(direction: &str, id: &str) -> String {
    format!("{direction}{id}").bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn unseal(cursor: &str) -> Option<String> {
    let bytes = cursor.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
}

/// Chooses the rows. `ids` are those of the whole list, oldest first.
pub(crate) fn choose(pairs: &Pairs, dialect: Dialect, newest_first: bool, ids: &[&str]) -> Result<Page, Refusal> {
    let limit = limit(pairs, dialect)?;
    let descending = match first(pairs, "order") {
        None => newest_first,
        Some("asc") => false,
        Some("desc") => true,
        Some(_) => return Err(Refusal::invalid("order: must be asc or desc", "order")),
    };
    let mut order: Vec<usize> = (0..ids.len()).collect();
    if descending {
        order.reverse();
    }
    let (start, end) = bounds(pairs, dialect, limit, &order, ids)?;
    let rows: Vec<usize> = order.get(start..end).unwrap_or_default().to_vec();
    let id = |row: Option<&usize>| row.and_then(|row| ids.get(*row)).map(|id| (*id).to_owned());
    let (head, tail) = (id(rows.first()), id(rows.last()));
    let next = if end < order.len() { tail.as_deref().map(|id| seal("n", id)) } else { None };
    let previous = if start > 0 { head.as_deref().map(|id| seal("p", id)) } else { None };
    Ok(Page { rows, first: head, last: tail, next, previous })
}

fn bounds(
    pairs: &Pairs,
    dialect: Dialect,
    limit: usize,
    order: &[usize],
    ids: &[&str],
) -> Result<(usize, usize), Refusal> {
    let page = first(pairs, "page");
    let (after, before) = match dialect {
        Dialect::Qoder => (first(pairs, "after_id"), first(pairs, "before_id")),
        Dialect::Claude => (None, None),
    };
    if [page, after, before].iter().flatten().count() > 1 {
        return Err(Refusal::invalid("page, after_id and before_id exclude each other", "page"));
    }
    let place = |id: &str, param: &str| {
        let found = order.iter().position(|row| ids.get(*row) == Some(&id));
        found.ok_or_else(|| Refusal::invalid(format!("{param}: unknown or expired cursor"), param))
    };
    let forward = |start: usize| (start, (start + limit).min(order.len()));
    let backward = |end: usize| (end.saturating_sub(limit), end);
    match (page, after, before) {
        (Some(page), ..) => {
            let open = unseal(page).ok_or_else(|| Refusal::invalid("page: unknown cursor", "page"))?;
            match open.split_at_checked(1) {
                Some(("n", id)) => Ok(forward(place(id, "page")? + 1)),
                Some(("p", id)) => Ok(backward(place(id, "page")?)),
                _ => Err(Refusal::invalid("page: unknown cursor", "page")),
            }
        }
        (_, Some(after), _) => Ok(forward(place(after, "after_id")? + 1)),
        (.., Some(before)) => Ok(backward(place(before, "before_id")?)),
        _ => Ok(forward(0)),
    }
}

impl Page {
    /// The envelope around the rows.
    pub(crate) fn envelope(self, dialect: Dialect, with_previous: bool, data: Vec<Value>) -> Value {
        match dialect {
            Dialect::Qoder => json!({"data": data, "has_more": self.next.is_some(), "next_page": self.next,
                                     "first_id": self.first, "last_id": self.last}),
            Dialect::Claude if with_previous => {
                json!({"data": data, "next_page": self.next, "prev_page": self.previous})
            }
            Dialect::Claude => json!({"data": data, "next_page": self.next}),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn ask(pairs: &[(&str, &str)], newest_first: bool) -> Result<Page, Refusal> {
        let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        choose(&pairs, Dialect::Qoder, newest_first, &IDS)
    }

    #[test]
    fn following_next_page_visits_every_row_once() {
        for newest_first in [false, true] {
            let (mut seen, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let mut pairs = vec![("limit", "2")];
                if let Some(cursor) = &cursor {
                    pairs.push(("page", cursor));
                }
                let page = ask(&pairs, newest_first).unwrap();
                seen.extend(page.rows.clone());
                cursor = page.next.clone();
                if cursor.is_none() {
                    break;
                }
            }
            let wanted: Vec<usize> = if newest_first { vec![4, 3, 2, 1, 0] } else { vec![0, 1, 2, 3, 4] };
            assert_eq!(seen, wanted);
        }
    }

    #[test]
    fn the_id_cursors_go_both_ways() {
        assert_eq!(ask(&[("after_id", "b"), ("limit", "2")], false).unwrap().rows, [2, 3]);
        assert_eq!(ask(&[("before_id", "d"), ("limit", "2")], false).unwrap().rows, [1, 2]);
        assert_eq!(ask(&[("after_id", "b"), ("order", "desc")], false).unwrap().rows, [0]);
    }

    #[test]
    fn what_the_wire_page_forbids_is_a_400() {
        for pairs in [
            &[("limit", "101")][..],
            &[("limit", "0")],
            &[("order", "up")],
            &[("after_id", "nothing")],
            &[("page", "zz")],
            &[("after_id", "a"), ("before_id", "c")],
            &[("page", "6e61"), ("after_id", "a")],
        ] {
            assert_eq!(ask(pairs, false).unwrap_err().status, 400, "{pairs:?}");
        }
        let large = vec![("limit".to_owned(), "1000".to_owned())];
        assert!(choose(&large, Dialect::Claude, false, &IDS).is_ok());
    }
}
