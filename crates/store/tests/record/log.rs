use contract::{
    session::SessionId,
    wire::{Cursor, FrameKind, Identity, LoggedFrame, Origin, TooLarge},
};
use pretty_assertions::assert_eq;
use store::{CursorMove, Outcome, StoreError};

use crate::support::{Scratch, buffered, frame, read_all, refused, session, to};

#[tokio::test]
async fn a_frame_comes_back_as_it_was_received() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let mut odd = buffered("evt\u{1}\u{0}\u{7f}", 5, "line\nline\u{0}\r 东京");
    odd.frame.id = Some(String::new());
    odd.frame.name = None;
    odd.frame.repaired = true;
    odd.origin = Origin::List;
    odd.identity = Some(Identity { event_id: "evt".into(), thread: Some(String::new()) });
    let mut cut = frame(FrameKind::Control, None, 6, "cut");
    cut.frame.too_large = Some(TooLarge { bytes: u64::MAX });
    cut.origin = Origin::Local;
    let mut threaded = buffered("evt", 7, "");
    threaded.identity = Some(Identity { event_id: "evt".into(), thread: Some("0".into()) });
    threaded.origin = Origin::Answer;
    let mut history = frame(FrameKind::Buffered, None, 8, "[]");
    history.origin = Origin::History;
    let frames = vec![odd, cut, threaded, history];
    let appended = store.append(id, frames.clone(), CursorMove::Keep).await.unwrap();
    assert_eq!(appended.frames, frames);
    assert_eq!(appended.outcomes, [Outcome::New; 4]);
    assert_eq!(read_all(&store, id).await, frames);
}

#[tokio::test]
async fn the_same_event_is_no_new_row_and_other_data_replaces_the_row_in_its_place() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let first = vec![buffered("a", 1, "one"), buffered("b", 2, "two")];
    let marked = store.append(id, first, to("b")).await.unwrap().log_seq;

    let again = store.append(id, vec![buffered("a", 9, "one")], CursorMove::Keep).await.unwrap();
    assert_eq!((again.outcomes, again.log_seq), (vec![Outcome::Same], marked));

    let mixed = vec![buffered("a", 9, "one, done"), buffered("b", 9, "two"), buffered("c", 9, "three")];
    let mixed = store.append(id, mixed, to("c")).await.unwrap();
    assert_eq!(mixed.outcomes, [Outcome::Changed, Outcome::Same, Outcome::New]);
    assert!(mixed.log_seq > marked);

    let mut changed = buffered("a", 1, "one, done");
    changed.received_at = 1_001;
    assert_eq!(read_all(&store, id).await, [changed.clone(), buffered("b", 2, "two"), buffered("c", 9, "three")]);
    assert_eq!(store.frame(id, "a".into()).await.unwrap(), Some(changed));
}

#[tokio::test]
async fn a_change_alone_moves_the_log_mark_although_no_row_is_added() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let first = store.append(id, vec![buffered("a", 1, "one")], CursorMove::Keep).await.unwrap().log_seq;
    let second = store.append(id, vec![buffered("a", 1, "two")], CursorMove::Keep).await.unwrap().log_seq;
    assert!(second > first);
    store.close().await.unwrap();
    let store = scratch.open();
    let third = store.append(id, vec![buffered("b", 1, "new")], CursorMove::Keep).await.unwrap().log_seq;
    assert!(third > second, "a mark that was used for a change is never given to another");
}

#[tokio::test]
async fn events_within_one_append_are_told_apart_too() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let frames = vec![buffered("a", 1, "x"), buffered("a", 2, "x"), buffered("a", 3, "y"), buffered("b", 4, "x")];
    let outcomes = store.append(id, frames, CursorMove::Keep).await.unwrap().outcomes;
    assert_eq!(outcomes, [Outcome::New, Outcome::Same, Outcome::Changed, Outcome::New]);
}

#[tokio::test]
async fn the_same_id_in_another_session_or_thread_is_another_event() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ids = store.put_sessions(vec![session("a"), session("b")]).await.unwrap();
    let mut copy = buffered("e", 2, "the thread's");
    copy.identity = Some(Identity { event_id: "e".into(), thread: Some("t".into()) });
    let own = buffered("e", 1, "own");
    let outcomes = store.append(ids[0], vec![copy, own.clone()], CursorMove::Keep).await.unwrap().outcomes;
    assert_eq!(outcomes, [Outcome::New, Outcome::New]);
    let other = store.append(ids[1], vec![own.clone()], CursorMove::Keep).await.unwrap().outcomes;
    assert_eq!(other, [Outcome::New]);
    assert_eq!(store.frame(ids[0], "e".into()).await.unwrap(), Some(own));
}

#[tokio::test]
async fn preview_frames_that_share_an_id_are_all_kept() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let frames = vec![
        frame(FrameKind::Preview, Some("e"), 1, "de"),
        frame(FrameKind::Preview, Some("e"), 1, "de"),
        frame(FrameKind::Control, Some("e"), 2, "beat"),
        frame(FrameKind::Control, Some("e"), 2, "beat"),
        buffered("e", 3, "delta"),
    ];
    let appended = store.append(id, frames.clone(), CursorMove::Keep).await.unwrap();
    assert_eq!(appended.outcomes, [Outcome::New; 5]);
    assert_eq!(read_all(&store, id).await, frames);
    assert_eq!(store.frame(id, "e".into()).await.unwrap(), Some(buffered("e", 3, "delta")));
}

#[tokio::test]
async fn a_cut_copy_never_replaces_the_whole_event_but_the_whole_one_replaces_the_cut() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let mut cut = buffered("e", 1, "the begin");
    cut.frame.too_large = Some(TooLarge { bytes: 1 << 30 });
    let whole = buffered("e", 1, "the beginning and the end");
    let mut outcomes = Vec::new();
    for frame in [cut.clone(), whole.clone(), cut] {
        outcomes.extend(store.append(id, vec![frame], CursorMove::Keep).await.unwrap().outcomes);
    }
    assert_eq!(outcomes, [Outcome::New, Outcome::Changed, Outcome::Same]);
    assert_eq!(read_all(&store, id).await, [whole]);
}

#[tokio::test]
async fn frames_are_read_by_place_then_arrival_over_many_pages_and_below_zero() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    assert_eq!(store.position_bounds(id).await.unwrap(), None);
    assert_eq!(read_all(&store, id).await, []);
    // Live frames count up; history that is fetched backwards counts down.
    let live: Vec<_> = (0..3_000).map(|n| buffered(&format!("live{n}"), n, "l")).collect();
    let older: Vec<_> = (1..=3_000).map(|n| buffered(&format!("old{n}"), -n, "o")).collect();
    let tied: Vec<_> = (0..10).map(|n| frame(FrameKind::Control, None, -3_001, &n.to_string())).collect();
    for part in [&live, &older, &tied] {
        store.append(id, part.clone(), CursorMove::Keep).await.unwrap();
    }
    let expected: Vec<LoggedFrame> = tied.into_iter().chain(older.into_iter().rev()).chain(live).collect();
    assert!(read_all(&store, id).await == expected);
    assert_eq!(store.position_bounds(id).await.unwrap(), Some((-3_001, 2_999)));
}

#[tokio::test]
async fn a_page_of_large_frames_is_short() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let large = "x".repeat(5 * 1024 * 1024);
    let frames = (0..4).map(|n| buffered(&n.to_string(), n, &large)).collect();
    let appended = store.append(id, frames, CursorMove::Keep).await.unwrap();
    let mut reader = store.frames(id);
    assert_eq!(reader.next().await.unwrap().unwrap().len(), 2);
    assert_eq!(reader.next().await.unwrap().unwrap().len(), 2);
    assert_eq!(reader.next().await.unwrap(), None);
    assert_eq!(reader.log_seq(), appended.log_seq);
    assert_eq!(reader.next().await.unwrap(), None);
}

#[tokio::test]
async fn the_cursor_moves_with_its_frames_or_not_at_all() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let cursor = async || store.cursor(id).await.unwrap().map(|Cursor(id)| id);
    assert_eq!(cursor().await, None);
    store.append(id, vec![buffered("a", 1, "x")], to("a")).await.unwrap();
    store.append(id, vec![frame(FrameKind::Preview, Some("b"), 2, "x")], CursorMove::Keep).await.unwrap();
    assert_eq!(cursor().await.as_deref(), Some("a"));
    store.append(id, Vec::new(), to("id only")).await.unwrap();
    assert_eq!(cursor().await.as_deref(), Some("id only"));
    store.append(id, Vec::new(), CursorMove::Clear).await.unwrap();
    assert_eq!(cursor().await, None);

    let nobody = SessionId(99);
    let error = refused(store.append(nobody, vec![buffered("a", 1, "x")], to("a")).await);
    assert!(matches!(error, StoreError::NoSuchSession(SessionId(99))));
    assert_eq!(store.cursor(nobody).await.unwrap(), None);
    assert_eq!(read_all(&store, nobody).await, []);
}

#[tokio::test]
async fn known_events_are_the_persisted_ones_of_that_session() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ids = store.put_sessions(vec![session("a"), session("b")]).await.unwrap();
    let frames = vec![buffered("yes", 1, ""), frame(FrameKind::Preview, Some("preview"), 2, "")];
    store.append(ids[0], frames, CursorMove::Keep).await.unwrap();
    store.append(ids[1], vec![buffered("elsewhere", 1, "")], CursorMove::Keep).await.unwrap();
    let asked = ["yes", "preview", "elsewhere", "no", "yes"].map(str::to_owned).to_vec();
    assert_eq!(store.known_events(ids[0], asked).await.unwrap(), [true, false, false, false, true]);
}

/// P-39: the local log is checksummed and whole after a crash, and sessions are never hidden.
#[tokio::test]
async fn p39_a_crash_loses_no_acknowledged_frame_and_hides_no_session() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let mut unmatched = session("of a server nobody saved");
    unmatched.server.0 = "gone".into();
    let ids = store.put_sessions(vec![session("/a/../b"), unmatched]).await.unwrap();
    let mut acknowledged = vec![Vec::new(); 2];
    for round in 0..40 {
        for (id, frames) in ids.iter().zip(&mut acknowledged) {
            let batch: Vec<_> =
                (0..50).map(|n| buffered(&format!("e{round}-{n}"), round * 50 + n, &"x".repeat(200))).collect();
            frames.extend(batch.clone());
            store.append(*id, batch, to(&format!("e{round}-49"))).await.unwrap();
        }
        if round % 13 == 0 {
            let crashed = scratch.as_after_a_crash();
            let after = crashed.open();
            for (id, frames) in ids.iter().zip(&acknowledged) {
                assert!(read_all(&after, *id).await == *frames, "round {round}");
                assert_eq!(after.cursor(*id).await.unwrap(), Some(Cursor(format!("e{round}-49"))));
            }
            let names: Vec<_> = after.sessions(None).await.unwrap().into_iter().map(|s| s.record.remote_id).collect();
            assert_eq!(names, ["of a server nobody saved", "/a/../b"]);
            // What is seen again after the resume is known.
            let again = after.append(ids[0], acknowledged[0].clone(), CursorMove::Keep).await.unwrap();
            assert!(again.outcomes.iter().all(|outcome| *outcome == Outcome::Same));
        }
    }
}

#[tokio::test]
async fn p39_a_frame_that_changed_on_disk_is_given_back_marked() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    store.append(id, vec![buffered("a", 1, "good"), buffered("b", 2, "good")], CursorMove::Keep).await.unwrap();
    store.close().await.unwrap();
    scratch.raw().execute("UPDATE frames SET data = 'gOod' WHERE event_id = 'b'", []).unwrap();
    let marks: Vec<_> =
        read_all(&scratch.open(), id).await.into_iter().map(|f| (f.frame.data, f.frame.repaired)).collect();
    assert_eq!(marks, [("good".to_owned(), false), ("gOod".to_owned(), true)]);
}

#[tokio::test]
async fn events_of_a_list_stand_in_its_order_and_nothing_else_moves() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    let listed = LoggedFrame { origin: Origin::List, ..buffered("newest", 11, "n") };
    let frames = vec![listed, buffered("first", 100, "1"), buffered("second", 102, "2"), buffered("live", 103, "l")];
    store.append(id, frames, CursorMove::Keep).await.unwrap();
    let order = ["first", "second", "never seen", "newest"].map(str::to_owned).to_vec();
    assert!(store.place_events(id, order.clone(), -4).await.unwrap());
    assert!(!store.place_events(id, order, -9).await.unwrap(), "in order already");
    let places: Vec<_> = read_all(&store, id).await.into_iter().map(|f| (f.position, f.frame.data)).collect();
    assert_eq!(places, [(-4, "1"), (-3, "2"), (-1, "n"), (103, "l")].map(|(place, data)| (place, data.to_owned())));
}
