use contract::{
    search::{HistoryHit, HistoryPage, HistoryPlace, HistoryQuery},
    server::ServerId,
    session::SessionId,
};
use pretty_assertions::assert_eq;
use store::{ItemsSave, Store};

use crate::support::{Scratch, index_all, item, save, server, session};

/// Sessions with a title and texts, the first one last active; all in the index.
async fn filled(scratch: &Scratch, sessions: &[(&str, &[&str])]) -> (Store, Vec<SessionId>) {
    let store = scratch.open();
    store.put_server(server("s")).await.unwrap();
    let mut ids = Vec::new();
    for (age, (title, texts)) in (0_i64..).zip(sessions) {
        let mut record = session(title);
        record.title = Some((*title).to_owned());
        record.last_event_at = Some(1_000 - age);
        let id = store.put_session(record).await.unwrap();
        let items = (0_i64..).zip(*texts).map(|(n, text)| item(&format!("i{n}"), n, text)).collect();
        store.save_items(id, save(items)).await.unwrap();
        ids.push(id);
    }
    index_all(&store).await;
    (store, ids)
}

async fn search(store: &Store, text: &str) -> HistoryPage {
    store.search(HistoryQuery { text: text.into(), limit: 200, ..HistoryQuery::default() }).await.unwrap()
}

async fn titles(store: &Store, text: &str) -> Vec<String> {
    search(store, text).await.hits.into_iter().map(|hit| hit.row.title.unwrap()).collect()
}

fn found(place: &HistoryPlace) -> (Option<&str>, &str, &str, &str) {
    (place.item.as_deref(), &place.before, &place.matched, &place.after)
}

#[tokio::test]
async fn one_and_two_chinese_characters_are_found() {
    let scratch = Scratch::new();
    let texts: &[(&str, &[&str])] =
        &[("a", &["查询东京天气,谢谢"]), ("b", &["東京 is written otherwise"]), ("c", &["京东"]), ("d", &["ラーメン"])];
    let (store, _) = filled(&scratch, texts).await;
    assert_eq!(titles(&store, "东京").await, ["a"]);
    assert_eq!(titles(&store, "京").await, ["a", "b", "c"]);
    assert_eq!(titles(&store, "气").await, ["a"]);
    assert_eq!(titles(&store, "谢").await, ["a"]);
    assert_eq!(titles(&store, "ーメ").await, ["d"]);
    assert_eq!(titles(&store, "东京天气").await, ["a"]);
    assert_eq!(titles(&store, "天东").await, Vec::<String>::new());
    let page = search(&store, "东京").await;
    assert_eq!(found(&page.hits[0].places[0]), (Some("i0"), "查询", "东京", "天气,谢谢"));
}

#[tokio::test]
async fn short_latin_words_and_mixed_queries_are_found() {
    let scratch = Scratch::new();
    let texts: &[(&str, &[&str])] =
        &[("a", &["run LS in 东京 please"]), ("b", &["ls -la"]), ("c", &["100%", "a_b"]), ("d", &["100 x", "É"])];
    let (store, _) = filled(&scratch, texts).await;
    assert_eq!(titles(&store, "ls").await, ["a", "b"]);
    assert_eq!(titles(&store, "东京 ls").await, ["a"]);
    assert_eq!(titles(&store, "please 东京").await, ["a"]);
    assert_eq!(titles(&store, "please 天气").await, Vec::<String>::new());
    assert_eq!(titles(&store, "0%").await, ["c"]);
    assert_eq!(titles(&store, "_b").await, ["c"]);
    assert_eq!(titles(&store, "é").await, ["d"]);
}

#[tokio::test]
async fn code_and_operators_are_plain_text() {
    let scratch = Scratch::new();
    let texts: &[(&str, &[&str])] = &[
        ("a", &["fn main() { println!(\"hi\"); }", "x NEAR y"]),
        ("b", &["let a = b[0] && c->d;", "it's \"quoted\" OR not"]),
    ];
    let (store, _) = filled(&scratch, texts).await;
    assert_eq!(titles(&store, "println!(\"hi\")").await, ["a"]);
    assert_eq!(titles(&store, "c->d;").await, ["b"]);
    assert_eq!(titles(&store, "\"quoted\"").await, ["b"]);
    assert_eq!(titles(&store, "OR NOT").await, ["b"]);
    assert_eq!(titles(&store, "NEAR").await, ["a"]);
    assert_eq!(titles(&store, "MAIN()").await, ["a"]);
    for odd in ["\"", "*", "a* OR", "(", "col:x", "^", "\u{0}", "-", "'; DROP TABLE items; --"] {
        search(&store, odd).await;
    }
    assert_eq!(titles(&store, "").await, ["a", "b"]);
}

#[tokio::test]
async fn several_words_must_all_be_there() {
    let scratch = Scratch::new();
    let (store, _) =
        filled(&scratch, &[("a", &["alpha beta"]), ("b", &["alpha", "beta"]), ("beta of ALPHA", &[])]).await;
    assert_eq!(titles(&store, "beta alpha").await, ["a", "beta of ALPHA"]);
    let page = search(&store, "beta alpha").await;
    assert_eq!(found(&page.hits[0].places[0]), (Some("i0"), "alpha ", "beta", ""));
    assert_eq!(found(&page.hits[1].places[0]), (None, "", "beta", " of ALPHA"));
}

#[tokio::test]
async fn the_first_three_places_of_a_session_are_shown_after_its_title() {
    let scratch = Scratch::new();
    let (store, _) =
        filled(&scratch, &[("needle work", &["needle 1", "hay", "needle 2", "needle 3", "needle 4"])]).await;
    let page = search(&store, "needle").await;
    let items: Vec<_> = page.hits[0].places.iter().map(|place| place.item.as_deref()).collect();
    assert_eq!(items, [None, Some("i0"), Some("i2"), Some("i3")]);
}

#[tokio::test]
async fn no_words_show_every_session_page_by_page_last_active_first() {
    let scratch = Scratch::new();
    let (store, _) = filled(&scratch, &[("a", &["x"]), ("b", &["y"]), ("c", &["z"])]).await;
    let page = async |offset, text: &str| {
        let query = HistoryQuery { text: text.into(), offset, limit: 2, server: None };
        let page = store.search(query).await.unwrap();
        let titles: Vec<_> = page.hits.into_iter().map(|hit| hit.row.title.unwrap()).collect();
        (titles.concat(), page.more)
    };
    assert_eq!(page(0, " ").await, ("ab".into(), true));
    assert_eq!(page(2, "").await, ("c".into(), false));
    assert_eq!(page(1, "").await, ("bc".into(), false));
    assert_eq!(page(9, "").await, (String::new(), false));
}

#[tokio::test]
async fn removed_and_unmatched_servers_sessions_are_found_with_a_name() {
    let scratch = Scratch::new();
    let (store, ids) = filled(&scratch, &[("kept", &["needle"])]).await;
    store.remove_server(ServerId("s".into()), 5).await.unwrap();
    let mut unmatched = session("unmatched");
    unmatched.server = ServerId("nobody".into());
    let id = store.put_session(unmatched).await.unwrap();
    store.save_items(id, save(vec![item("i", 1, "needle")])).await.unwrap();
    index_all(&store).await;
    let summary = |hit: &HistoryHit| (hit.row.id, hit.server_name.clone(), hit.last_active_at, hit.row.live);
    let page = search(&store, "needle").await;
    let expected = [(ids[0], "s's name".to_owned(), Some(1_000), false), (id, "nobody".to_owned(), None, false)];
    assert_eq!(page.hits.iter().map(summary).collect::<Vec<_>>(), expected);
    let query = HistoryQuery { text: "needle".into(), server: Some(ServerId("nobody".into())), ..Default::default() };
    let only = store.search(query).await.unwrap();
    assert_eq!(only.hits.iter().map(summary).collect::<Vec<_>>(), expected[1..]);
}

#[tokio::test]
async fn search_says_how_far_the_index_is_behind_and_follows_changes() {
    let scratch = Scratch::new();
    let (store, ids) = filled(&scratch, &[("a", &["first words"]), ("b", &["other words"])]).await;
    store.save_items(ids[0], save(vec![item("i0", 0, "second thought"), item("i9", 9, "a third")])).await.unwrap();
    assert_eq!(search(&store, "words").await.index_behind, 2);
    assert_eq!(store.index_step(1).await.unwrap(), 1);
    assert_eq!(store.index_step(9).await.unwrap(), 0);
    assert_eq!(store.index_step(9).await.unwrap(), 0);
    assert_eq!(titles(&store, "words").await, ["b"]);
    assert_eq!(titles(&store, "thought").await, ["a"]);
    assert_eq!(titles(&store, "third").await, ["a"]);

    store.save_items(ids[0], ItemsSave { gone: vec!["i9".into()], ..save(Vec::new()) }).await.unwrap();
    assert_eq!(titles(&store, "third").await, Vec::<String>::new());
    // A change that search cannot see sends nothing to the index again.
    store.save_items(ids[0], save(vec![item("i0", 7, "second thought")])).await.unwrap();
    let page = search(&store, "thought").await;
    assert_eq!((page.index_behind, page.hits.len()), (0, 1));
}

#[tokio::test]
async fn the_index_goes_on_where_it_was_after_a_restart() {
    let scratch = Scratch::new();
    let (store, ids) = filled(&scratch, &[("a", &["first words"])]).await;
    store.save_items(ids[0], save(vec![item("late", 5, "late words")])).await.unwrap();
    store.close().await.unwrap();
    let store = scratch.open();
    assert_eq!(search(&store, "late").await.index_behind, 1);
    index_all(&store).await;
    assert_eq!(titles(&store, "late").await, ["a"]);
    store.save_items(ids[0], save(vec![item("later", 6, "even later")])).await.unwrap();
    assert_eq!(store.index_step(9).await.unwrap(), 0);
    assert_eq!(titles(&store, "even").await, ["a"]);
}

#[tokio::test]
async fn a_word_of_very_many_sessions_is_paged_without_loss_or_doubling() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let mut expected = Vec::new();
    for n in 0..300 {
        let mut record = session(&n.to_string());
        record.last_event_at = Some(10_000 - n);
        let id = store.put_session(record).await.unwrap();
        let text = if n % 4 == 3 { "hay" } else { "needle in it" };
        store.save_items(id, save(vec![item("i", 1, text)])).await.unwrap();
        if n % 4 != 3 {
            expected.push(id);
        }
    }
    while store.index_step(100).await.unwrap() > 0 {}
    for word in ["needle", "in"] {
        let mut found = Vec::new();
        loop {
            let offset = u32::try_from(found.len()).unwrap();
            let query = HistoryQuery { text: word.into(), offset, limit: 7, server: None };
            let page = store.search(query).await.unwrap();
            found.extend(page.hits.iter().map(|hit| hit.row.id));
            if !page.more {
                break;
            }
        }
        assert_eq!(found, expected);
    }
}
