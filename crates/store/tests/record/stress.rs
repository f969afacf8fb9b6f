use std::collections::HashSet;

use contract::wire::{Cursor, FrameKind};
use pretty_assertions::assert_eq;
use store::{CursorMove, Outcome, StoreError};
use tokio::task::JoinSet;

use crate::support::{Scratch, buffered, frame, item, read_all, refused, save, session, to};

const SESSIONS: i64 = 8;
const BATCHES: i64 = 40;
const BATCH: i64 = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_write_and_read_at_once_and_nothing_is_lost_or_doubled() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ids = store.put_sessions((0..SESSIONS).map(|n| session(&n.to_string())).collect()).await.unwrap();
    let mut tasks = JoinSet::new();
    for id in ids.clone() {
        let writing = store.clone();
        tasks.spawn(async move {
            for batch in 0..BATCHES {
                let mut frames: Vec<_> =
                    (0..BATCH).map(|n| buffered(&format!("e{batch}-{n}"), batch * BATCH + n, "data")).collect();
                frames.push(frame(FrameKind::Preview, Some("e0-0"), batch * BATCH, "p"));
                writing.append(id, frames.clone(), to(&format!("e{batch}"))).await.unwrap();
                let again = writing.append(id, frames, CursorMove::Keep).await.unwrap();
                let known = again.outcomes.iter().filter(|outcome| **outcome == Outcome::Same).count();
                assert_eq!(known, usize::try_from(BATCH).unwrap());
                writing.save_items(id, save(vec![item(&batch.to_string(), batch, "text")])).await.unwrap();
                writing.index_step(10).await.unwrap();
            }
        });
        let reading = store.clone();
        tasks.spawn(async move {
            // What was seen once is seen ever after, in rising places.
            let mut seen = 0;
            while seen < usize::try_from(BATCHES * (BATCH + 2)).unwrap() {
                let frames = read_all(&reading, id).await;
                assert!(frames.len() >= seen);
                assert!(frames.is_sorted_by_key(|frame| frame.position));
                seen = frames.len();
            }
        });
    }
    tasks.join_all().await;
    for id in ids {
        let frames = read_all(&store, id).await;
        let unique: HashSet<_> =
            frames.iter().filter(|frame| frame.kind == FrameKind::Buffered).map(|frame| &frame.identity).collect();
        assert_eq!(i64::try_from(unique.len()).unwrap(), BATCHES * BATCH);
        assert_eq!(store.cursor(id).await.unwrap(), Some(Cursor(format!("e{}", BATCHES - 1))));
        assert_eq!(store.items(id, None, u32::MAX).await.unwrap().len(), usize::try_from(BATCHES).unwrap());
    }
}

#[tokio::test]
async fn of_writes_made_at_once_each_gets_its_own_answer() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let missing = contract::session::SessionId(99);
    let (one, two, three, four) = tokio::join!(
        store.append(id, vec![buffered("a", 1, "x")], to("a")),
        store.append(missing, vec![buffered("a", 1, "x")], to("a")),
        store.append(id, vec![buffered("a", 1, "x"), buffered("b", 2, "x")], to("b")),
        store.append(id, vec![buffered("b", 2, "y")], CursorMove::Keep),
    );
    assert_eq!(one.unwrap().outcomes, [Outcome::New]);
    assert!(matches!(refused(two), StoreError::NoSuchSession(_)));
    assert_eq!(three.unwrap().outcomes, [Outcome::Same, Outcome::New]);
    assert_eq!(four.unwrap().outcomes, [Outcome::Changed]);
    assert_eq!(read_all(&scratch.as_after_a_crash().open(), id).await, [buffered("a", 1, "x"), buffered("b", 2, "y")]);
}
