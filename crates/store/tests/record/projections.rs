use contract::{
    connection::{ConnectionLogKind, ConnectionLogRow},
    item::Text,
    request::{Request, RequestKind, RequestState},
    server::ServerId,
    session::{SessionId, Usage},
};
use pretty_assertions::assert_eq;
use store::{CursorMove, ItemsSave, PROJECTION_VERSION, ProjectionMark, StoreError};

use crate::support::{Scratch, buffered, index_all, item, read_all, refused, save, session};

fn request(session: SessionId, id: &str) -> Request {
    Request {
        id: id.into(),
        session,
        server: ServerId("s".into()),
        server_name: "S".into(),
        kind: RequestKind::Approval,
        tool: Some("bash".into()),
        source: None,
        item: None,
        agent_path: Vec::new(),
        command: None,
        work_dir: None,
        arguments: Text::default(),
        lines: 1,
        questions: Vec::new(),
        choices: Vec::new(),
        state: RequestState::Open,
        flags: Vec::new(),
        digest: "d".into(),
        asked_at: 1,
        deadline: None,
        group: None,
        own_tool: None,
        risk: None,
        marks: Vec::new(),
    }
}

#[tokio::test]
async fn items_are_paged_upwards_by_place_then_id() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let other = store.put_session(session("b")).await.unwrap();
    let placed = [("e", 2), ("a", -5), ("d", 1), ("c", 1), ("b", 0)];
    store.save_items(id, save(placed.map(|(id, order)| item(id, order, "x")).to_vec())).await.unwrap();
    store.save_items(other, save(vec![item("other", 0, "x")])).await.unwrap();
    let page = async |before: Option<(i64, &str)>, limit| -> Vec<String> {
        let before = before.map(|(place, id)| (place, id.to_owned()));
        store.items(id, before, limit).await.unwrap().into_iter().map(|item| item.id).collect()
    };
    assert_eq!(page(None, 2).await, ["d", "e"]);
    assert_eq!(page(Some((1, "d")), 2).await, ["b", "c"]);
    assert_eq!(page(Some((0, "b")), 2).await, ["a"]);
    assert_eq!(page(None, 99).await, ["a", "b", "c", "d", "e"]);
}

#[tokio::test]
async fn a_save_upserts_removes_and_replaces_all_in_one() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let texts = async || -> Vec<_> { store.items(id, None, 99).await.unwrap() };
    store.save_items(id, save(vec![item("a", 1, "1"), item("b", 2, "2"), item("c", 3, "3")])).await.unwrap();
    let change = ItemsSave { gone: vec!["b".into(), "never".into()], ..save(vec![item("a", 9, "one")]) };
    store.save_items(id, change).await.unwrap();
    assert_eq!(texts().await, [item("c", 3, "3").item, item("a", 9, "one").item]);
    let all = ItemsSave { replace_all: true, ..save(vec![item("d", 1, "4"), item("c", 2, "3")]) };
    store.save_items(id, all).await.unwrap();
    assert_eq!(texts().await, [item("d", 1, "4").item, item("c", 2, "3").item]);
}

#[tokio::test]
async fn requests_usage_and_the_mark_are_those_of_the_last_save() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    assert_eq!(store.projection(id).await.unwrap(), None);
    assert_eq!(store.usage(id).await.unwrap(), Usage::default());
    let log_seq = store.append(id, vec![buffered("a", 1, "x")], CursorMove::Keep).await.unwrap().log_seq;
    for requests in [vec!["z", "a"], vec!["m"], vec!["z", "b", "a"]] {
        let requests: Vec<_> = requests.into_iter().map(|name| request(id, name)).collect();
        let usage = Usage { input_tokens: Some(5), credits: Some("0.10".into()), ..Usage::default() };
        let save =
            ItemsSave { requests: requests.clone(), usage: usage.clone(), through_seq: log_seq, ..save(Vec::new()) };
        store.save_items(id, save).await.unwrap();
        assert_eq!(store.requests(id).await.unwrap(), requests);
        assert_eq!(store.usage(id).await.unwrap(), usage);
    }
    let mark = store.projection(id).await.unwrap().unwrap();
    assert_eq!(mark, ProjectionMark { version: PROJECTION_VERSION, through_seq: log_seq, log_seq });
    assert!(mark.is_current());
    store.append(id, vec![buffered("a", 1, "changed")], CursorMove::Keep).await.unwrap();
    assert!(!store.projection(id).await.unwrap().unwrap().is_current(), "a changed row makes them stale");
}

#[tokio::test]
async fn dropping_projections_leaves_the_log_and_search_finds_what_is_made_again() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    store.append(id, vec![buffered("a", 1, "x")], CursorMove::Keep).await.unwrap();
    let save = ItemsSave { requests: vec![request(id, "r")], ..save(vec![item("a", 1, "needle 东京")]) };
    store.save_items(id, save.clone()).await.unwrap();
    index_all(&store).await;
    let hits = async |text: &str| {
        let query = contract::search::HistoryQuery { text: text.into(), ..Default::default() };
        store.search(query).await.unwrap().hits.len()
    };
    assert_eq!((hits("needle").await, hits("东京").await), (1, 1));

    store.drop_projections().await.unwrap();
    assert_eq!((hits("needle").await, hits("东京").await), (0, 0));
    assert_eq!(store.items(id, None, 9).await.unwrap(), []);
    assert_eq!(store.requests(id).await.unwrap(), []);
    assert_eq!(store.projection(id).await.unwrap(), None);
    assert_eq!(read_all(&store, id).await.len(), 1);

    store.save_items(id, save).await.unwrap();
    index_all(&store).await;
    assert_eq!((hits("needle").await, hits("东京").await), (1, 1));
}

#[tokio::test]
async fn nothing_is_saved_for_a_session_that_does_not_exist() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let error = refused(store.save_items(SessionId(4), save(vec![item("a", 1, "x")])).await);
    assert!(matches!(error, StoreError::NoSuchSession(SessionId(4))));
    assert_eq!(store.items(SessionId(4), None, 9).await.unwrap(), []);
}

#[tokio::test]
async fn the_connection_log_keeps_the_newest_five_thousand_lines_of_each_session() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ids = store.put_sessions(vec![session("a"), session("b")]).await.unwrap();
    let line = |at: i64| ConnectionLogRow {
        at,
        what: ConnectionLogKind::Resumed { recovered: 1, duplicates: 2, away_ms: 3 },
        cursor: Some("c".into()),
        detail: None,
    };
    store.log_connection(ids[1], vec![line(-1)]).await.unwrap();
    for from in [0, 3_000, 6_000] {
        store.log_connection(ids[0], (from..from + 3_000).map(line).collect()).await.unwrap();
    }
    let newest = store.connection_log(ids[0], 2).await.unwrap();
    assert_eq!(newest, [line(8_999), line(8_998)]);
    let all = store.connection_log(ids[0], u32::MAX).await.unwrap();
    assert_eq!((all.len(), all.last()), (5_000, Some(&line(4_000))));
    assert_eq!(store.connection_log(ids[1], 9).await.unwrap(), [line(-1)]);
}

#[tokio::test]
async fn projections_saved_in_parts_are_current_only_with_the_last_part() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("parts")).await.unwrap();
    store.save_items(id, save(vec![item("gone", 0, "old"), item("a", 1, "old")])).await.unwrap();
    assert!(store.projection(id).await.unwrap().unwrap().is_current());
    store.save_part(id, vec![item("a", 1, "new"), item("b", 2, "new")], vec!["gone".into()]).await.unwrap();
    assert!(!store.projection(id).await.unwrap().unwrap().is_current());
    let ids = store.item_ids(id).await.unwrap();
    assert_eq!(ids, ["a".to_owned(), "b".to_owned()].into());
    store.save_items(id, save(vec![item("c", 3, "new")])).await.unwrap();
    assert!(store.projection(id).await.unwrap().unwrap().is_current());
    assert_eq!(store.items(id, None, 9).await.unwrap().len(), 3);
}
