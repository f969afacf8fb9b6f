use std::{collections::BTreeSet, fs, path::Path};

use contract::error::{AppError, ErrorCode};
use pretty_assertions::assert_eq;
use store::{SCHEMA_VERSION, Store, StoreError};

use crate::support::{Scratch, buffered, index_all, read_all, refused, session, suffixed, to};

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn a_second_opener_is_refused_until_the_first_has_closed() {
    let scratch = Scratch::new();
    let first = scratch.open();
    let error = refused(Store::open(&scratch.path, 1));
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    assert_eq!(AppError::from(error).code, ErrorCode::StoreLocked);
    first.close().await.unwrap();
    scratch.open().close().await.unwrap();
}

#[tokio::test]
async fn closing_finishes_what_is_queued_and_later_calls_say_closed() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let (append, closed) = tokio::join!(store.append(id, vec![buffered("e", 1, "d")], to("e")), store.close());
    append.unwrap();
    closed.unwrap();
    assert!(matches!(refused(store.sessions(None).await), StoreError::Closed));
    assert!(matches!(refused(store.put_session(session("b")).await), StoreError::Closed));
    store.close().await.unwrap();
    assert_eq!(names(scratch.folder.path()), BTreeSet::from(["record.db".into(), "record.db.lock".into()]));
    assert_eq!(read_all(&scratch.open(), id).await, [buffered("e", 1, "d")]);
}

#[tokio::test]
async fn dropping_the_last_clone_closes_the_store_in_the_background() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    drop(store.clone());
    store.append(id, vec![buffered("e", 1, "d")], to("e")).await.unwrap();
    drop(store);
    let again = loop {
        match Store::open(&scratch.path, 1) {
            Err(StoreError::Locked { .. }) => std::thread::yield_now(),
            opened => break opened.unwrap().store,
        }
    };
    assert_eq!(read_all(&again, id).await.len(), 1);
}

#[tokio::test]
async fn a_newer_database_is_refused_and_stays_byte_for_byte() {
    let scratch = Scratch::new();
    scratch.open().close().await.unwrap();
    scratch.raw().pragma_update(None, "user_version", 99).unwrap();
    let before = (fs::read(&scratch.path).unwrap(), names(scratch.folder.path()));
    let error = refused(Store::open(&scratch.path, 1));
    assert!(matches!(error, StoreError::TooNew { found: 99, known } if known == SCHEMA_VERSION), "{error:?}");
    assert_eq!(AppError::from(error).code, ErrorCode::StoreTooNew);
    assert!(before == (fs::read(&scratch.path).unwrap(), names(scratch.folder.path())));
}

#[tokio::test]
async fn a_newer_version_that_stands_in_the_wal_alone_is_refused_too() {
    let scratch = Scratch::new();
    scratch.open().close().await.unwrap();
    let newer = scratch.raw();
    newer.pragma_update(None, "user_version", 99).unwrap();
    let crashed = scratch.as_after_a_crash();
    let read = |suffix| fs::read(suffixed(&crashed.path, suffix)).unwrap();
    let before = (read(""), read("-wal"));
    let error = refused(Store::open(&crashed.path, 1));
    assert!(matches!(error, StoreError::TooNew { found: 99, .. }), "{error:?}");
    assert!(before == (read(""), read("-wal")));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_set_aside_and_a_new_one_begun() {
    let scratch = Scratch::new();
    let garbage = b"no database, but somebody's bytes".repeat(100);
    fs::write(&scratch.path, &garbage).unwrap();
    fs::write(suffixed(&scratch.path, "-wal"), b"its wal").unwrap();
    let opened = Store::open(&scratch.path, 1_764_500_000_000).unwrap();
    let aside = opened.set_aside.unwrap();
    assert_eq!(aside, suffixed(&scratch.path, ".damaged-1764500000000"));
    assert_eq!(fs::read(&aside).unwrap(), garbage);
    assert_eq!(fs::read(suffixed(&aside, "-wal")).unwrap(), b"its wal");
    opened.store.put_session(session("a")).await.unwrap();
    opened.store.close().await.unwrap();
    assert_eq!(scratch.open().sessions(None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn damaged_pages_are_found_at_the_next_start() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let frames = (0..2_000).map(|n| buffered(&format!("e{n}"), n, &"x".repeat(200))).collect();
    store.append(id, frames, to("e1999")).await.unwrap();
    store.close().await.unwrap();
    let mut bytes = fs::read(&scratch.path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16_384].fill(0xA5);
    fs::write(&scratch.path, &bytes).unwrap();
    let opened = Store::open(&scratch.path, 5).unwrap();
    assert!(fs::read(opened.set_aside.unwrap()).unwrap() == bytes);
    assert_eq!(opened.store.sessions(None).await.unwrap(), []);
}

#[tokio::test]
async fn a_large_database_that_was_not_closed_is_checked_in_use_and_set_aside_at_the_next_start() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let large = "x".repeat(9 * 1024 * 1024);
    for n in 0..2 {
        store.append(id, vec![buffered(&n.to_string(), n, &large)], to("e")).await.unwrap();
    }
    store.close().await.unwrap();
    let mut bytes = fs::read(&scratch.path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16_384].fill(0xA5);
    fs::write(&scratch.path, &bytes).unwrap();

    let word = |word| fs::write(suffixed(&scratch.path, ".lock"), word).unwrap();
    word("closed\n");
    scratch.open().close().await.unwrap();
    word("open\n");
    // Opened as it is: the person is not kept waiting. Closing waits for what was found.
    scratch.open().close().await.unwrap();
    let opened = Store::open(&scratch.path, 5).unwrap();
    assert!(opened.set_aside.is_some());
}

#[tokio::test]
async fn a_truncated_database_is_set_aside() {
    let scratch = Scratch::new();
    scratch.open().close().await.unwrap();
    let bytes = fs::read(&scratch.path).unwrap();
    fs::write(&scratch.path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(Store::open(&scratch.path, 5).unwrap().set_aside.is_some());
}

#[tokio::test]
async fn a_second_damaged_file_of_the_same_moment_does_not_replace_the_first() {
    let scratch = Scratch::new();
    let mut aside = Vec::new();
    for garbage in ["first", "second"] {
        fs::write(&scratch.path, garbage).unwrap();
        let opened = Store::open(&scratch.path, 5).unwrap();
        aside.push(opened.set_aside.unwrap());
        opened.store.close().await.unwrap();
    }
    let contents: Vec<_> = aside.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!(contents, ["first", "second"]);
}

#[cfg(unix)]
#[tokio::test]
async fn every_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let modes = |scratch: &Scratch| {
        ["", "-wal", "-shm", ".lock"]
            .map(|suffix| fs::metadata(suffixed(&scratch.path, suffix)).unwrap().permissions().mode() & 0o777)
    };
    let scratch = Scratch::new();
    let store = scratch.open();
    store.put_session(session("a")).await.unwrap();
    assert_eq!(modes(&scratch), [0o600; 4]);
    store.close().await.unwrap();

    fs::set_permissions(&scratch.path, fs::Permissions::from_mode(0o644)).unwrap();
    let store = scratch.open();
    store.put_session(session("b")).await.unwrap();
    assert_eq!(modes(&scratch), [0o600; 4]);
}

#[tokio::test]
async fn an_older_database_gets_what_is_missing_and_keeps_what_it_has() {
    let scratch = Scratch::new();
    let old = scratch.raw();
    old.execute_batch(include_str!("../../migrations/0001_record.sql")).unwrap();
    old.execute_batch(
        "INSERT INTO sessions (id, server, remote_id, state, waiting, archived)
           VALUES (3, 's', 'old one', '{\"kind\":\"idle\"}', 0, 0);
         INSERT INTO outbox (session, id, body, key, at, state) VALUES (3, 'm', 'unsent', 'k', 1, 'queued');
         INSERT INTO items (id, session, item, place, changed, body, search_text)
           VALUES (12884901889, 3, 'i', 1, 1, '{}', 'kept from before');
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(old);
    let store = scratch.open();
    index_all(&store).await;
    let page = store.search(contract::search::HistoryQuery { text: "kept".into(), ..Default::default() });
    let found: Vec<_> = page.await.unwrap().hits.into_iter().map(|hit| hit.row.remote_id).collect();
    assert_eq!(found, ["old one"]);
    let unsent = store.outbox(None).await.unwrap();
    assert_eq!((unsent[0].body.as_str(), unsent[0].images.len()), ("unsent", 0));
    assert_eq!(store.sessions(None).await.unwrap()[0].record.run_options, None);
    store.close().await.unwrap();
    let version: i64 = scratch.raw().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, SCHEMA_VERSION);
}

#[tokio::test]
async fn missing_folders_are_made() {
    let scratch = Scratch::new();
    let path = scratch.folder.path().join("a/b/record.db");
    let store = Store::open(&path, 1).unwrap().store;
    store.close().await.unwrap();
    assert!(path.exists());
}
