//! How fast the index fills and how soon a first page is found: 200,000 short items by default.
//!
//! `cargo run --release -p store --example search_rate [items]`

use std::time::Instant;

use contract::{
    item::{Item, ItemBody, Unknown},
    search::HistoryQuery,
    server::ServerId,
    session::{SessionState, Usage},
};
use store::{ItemsSave, SessionRecord, Store, StoredItem};

const PER_SESSION: i64 = 1_000;
const WORDS: [&str; 8] =
    ["compile", "the crate", "东京天气", "rm -rf target", "结果如下", "warning: unused", "テスト", "done"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let items = std::env::args().nth(1).map_or(Ok(200_000_i64), |argument| argument.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rate.db");
    let store = Store::open(&path, 0)?.store;
    let started = Instant::now();
    for number in 0..items / PER_SESSION {
        let session = store.put_session(record(number)).await?;
        let upserts = (0..PER_SESSION).map(|n| item(number, n)).collect();
        let save = ItemsSave {
            replace_all: false,
            upserts,
            gone: Vec::new(),
            through_seq: 0,
            requests: Vec::new(),
            usage: Usage::default(),
        };
        store.save_items(session, save).await?;
    }
    println!("saved {items} items in {} ms", started.elapsed().as_millis());
    let started = Instant::now();
    let mut slowest = 0;
    loop {
        let step = Instant::now();
        let behind = store.index_step(500).await?;
        slowest = slowest.max(step.elapsed().as_millis());
        if behind == 0 {
            break;
        }
    }
    println!("indexed in {} ms, slowest step {slowest} ms", started.elapsed().as_millis());
    for text in
        ["compile", "东京", "京", "needle0", "needle999 东京", "ls", "rm", "unused 结果", "zz", "nowhere at all", ""]
    {
        let mut times = Vec::new();
        let mut hits = 0;
        for _ in 0..5 {
            let query = HistoryQuery { text: text.into(), limit: 50, ..HistoryQuery::default() };
            let started = Instant::now();
            hits = store.search(query).await?.hits.len();
            times.push(started.elapsed().as_micros());
        }
        println!("{text:>16}: {hits:>3} sessions, {times:?} µs");
    }
    store.close().await?;
    println!("file: {} MB", std::fs::metadata(&path)?.len() / 1_000_000);
    // Without the lock file's word that it was closed, every page is checked, as after a crash.
    for (case, crashed) in [("a close", false), ("a crash", true)] {
        if crashed {
            std::fs::remove_file(folder.path().join("rate.db.lock"))?;
        }
        let started = Instant::now();
        let store = Store::open(&path, 0)?.store;
        println!("open after {case}: {} ms", started.elapsed().as_millis());
        store.close().await?;
    }
    Ok(())
}

fn item(session: i64, n: i64) -> StoredItem {
    let words: Vec<&str> = WORDS.iter().enumerate().filter(|(bit, _)| (n >> bit) & 1 == 1).map(|(_, w)| *w).collect();
    let text = format!(
        "{} {session}-{n} {}",
        words.join(" "),
        if n == 500 { format!("needle{session}") } else { String::new() }
    );
    let body = ItemBody::Unknown(Unknown { what: "m".into(), raw: contract::item::Text::default() });
    StoredItem {
        item: Item { id: format!("evt_{session}_{n}"), order: n, turn: None, thread: None, at: n, body },
        search_text: text,
    }
}

fn record(number: i64) -> SessionRecord {
    SessionRecord {
        server: ServerId("rate".into()),
        remote_id: number.to_string(),
        title: Some(format!("Session {number}")),
        agent: None,
        state: SessionState::Idle,
        waiting: 0,
        waiting_kind: None,
        activity: None,
        created_at: Some(number),
        updated_at: None,
        last_event_at: None,
        synced_updated_at: None,
        archived: false,
        ended: None,
        run_options: None,
    }
}
