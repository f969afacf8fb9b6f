use contract::{
    command::SentImage,
    error::{AppError, ErrorCode},
    request::{ChoiceKind, DecidedBy, Fate, LedgerRow},
    session::SessionId,
};
use pretty_assertions::assert_eq;
use store::{NewDecision, OutboxMessage, OutboxState, PendingDecision, Store, StoreError};

use crate::support::{Scratch, refused, session};

fn decision(session: SessionId, request: &str) -> NewDecision {
    NewDecision {
        session,
        request: request.into(),
        at: 10,
        by: DecidedBy::You,
        choice: ChoiceKind::AllowOnce,
        tool: Some("bash".into()),
        subject: "rm -rf build".into(),
        reason: None,
        digest: "abc".into(),
        waited_ms: 1_500,
        outgoing: Some("{\"a\":1}".into()),
        key: "key-1".into(),
        fate: Fate::Sending,
    }
}

fn refusal() -> Fate {
    Fate::Refused { message: "409".into() }
}

async fn store_with_session(scratch: &Scratch) -> (Store, SessionId) {
    let store = scratch.open();
    let id = store.put_session(session("a")).await.unwrap();
    (store, id)
}

#[tokio::test]
async fn a_decision_is_read_back_with_its_fate_and_newest_first() {
    let scratch = Scratch::new();
    let (store, id) = store_with_session(&scratch).await;
    let first = store.record_decision(decision(id, "r1")).await.unwrap();
    store.settle_decision(first, refusal(), 20).await.unwrap();
    let elsewhere = NewDecision {
        by: DecidedBy::Elsewhere,
        choice: ChoiceKind::Deny,
        reason: Some("no".into()),
        fate: Fate::Accepted,
        outgoing: None,
        ..decision(id, "r2")
    };
    let second = store.record_decision(elsewhere).await.unwrap();
    let row = LedgerRow {
        number: first,
        session: id,
        request: "r1".into(),
        at: 10,
        by: DecidedBy::You,
        choice: ChoiceKind::AllowOnce,
        tool: Some("bash".into()),
        subject: "rm -rf build".into(),
        reason: None,
        digest: "abc".into(),
        fate: refusal(),
        waited_ms: 1_500,
    };
    let later = LedgerRow {
        number: second,
        request: "r2".into(),
        by: DecidedBy::Elsewhere,
        choice: ChoiceKind::Deny,
        reason: Some("no".into()),
        fate: Fate::Accepted,
        ..row.clone()
    };
    assert_eq!(store.decisions(None, 10).await.unwrap(), [later.clone(), row]);
    assert_eq!(store.decisions(Some(id), 1).await.unwrap(), [later]);
    assert_eq!(store.decisions(Some(SessionId(9)), 10).await.unwrap(), []);
    assert_eq!(store.verify_ledger().await.unwrap(), 3);
}

#[tokio::test]
async fn a_request_is_decided_once_unless_the_server_refused_the_answer() {
    let scratch = Scratch::new();
    let (store, id) = store_with_session(&scratch).await;
    let first = store.record_decision(decision(id, "r")).await.unwrap();
    let error = refused(store.record_decision(decision(id, "r")).await);
    assert!(matches!(&error, StoreError::AlreadyDecided { request, .. } if request == "r"), "{error:?}");
    assert_eq!(AppError::from(error).code, ErrorCode::RequestSettled);
    store.record_decision(decision(id, "another")).await.unwrap();
    store.settle_decision(first, refusal(), 20).await.unwrap();
    let second = store.record_decision(decision(id, "r")).await.unwrap();
    store.settle_decision(second, Fate::Accepted, 30).await.unwrap();
    refused(store.record_decision(decision(id, "r")).await);
    // What others decided is written down all the same.
    let theirs = NewDecision { by: DecidedBy::ServerRule, fate: Fate::Accepted, ..decision(id, "r") };
    store.record_decision(theirs).await.unwrap();
}

#[tokio::test]
async fn two_clicks_at_the_same_moment_make_one_decision() {
    let scratch = Scratch::new();
    let (store, id) = store_with_session(&scratch).await;
    let (one, two) = tokio::join!(store.record_decision(decision(id, "r")), store.record_decision(decision(id, "r")));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    assert_eq!(store.verify_ledger().await.unwrap(), 1);
}

#[tokio::test]
async fn settling_twice_alike_is_one_row_and_a_decision_does_not_become_unsettled() {
    let scratch = Scratch::new();
    let (store, id) = store_with_session(&scratch).await;
    let number = store.record_decision(decision(id, "r")).await.unwrap();
    store.settle_decision(number, Fate::Accepted, 20).await.unwrap();
    store.settle_decision(number, Fate::Accepted, 21).await.unwrap();
    assert_eq!(store.verify_ledger().await.unwrap(), 2);
    assert!(matches!(refused(store.settle_decision(number, Fate::Sending, 22).await), StoreError::NotAFate { .. }));
    let fates_own_number = number + 1;
    for missing in [fates_own_number, 77] {
        let error = refused(store.settle_decision(missing, Fate::Accepted, 23).await);
        assert!(matches!(error, StoreError::NoSuchDecision { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn after_a_crash_the_unsettled_decisions_are_there_to_be_sent_again() {
    let scratch = Scratch::new();
    let (store, id) = store_with_session(&scratch).await;
    let settled = store.record_decision(decision(id, "settled")).await.unwrap();
    store.settle_decision(settled, Fate::Superseded, 20).await.unwrap();
    let number = store.record_decision(decision(id, "open")).await.unwrap();
    let crashed = scratch.as_after_a_crash();
    let after = crashed.open();
    let pending = PendingDecision {
        number,
        session: id,
        request: "open".into(),
        choice: ChoiceKind::AllowOnce,
        outgoing: "{\"a\":1}".into(),
        key: "key-1".into(),
        at: 10,
    };
    assert_eq!(after.unsettled_decisions().await.unwrap(), [pending]);
    after.settle_decision(number, Fate::Accepted, 30).await.unwrap();
    assert_eq!(after.unsettled_decisions().await.unwrap(), []);
    assert_eq!(after.verify_ledger().await.unwrap(), 4);
}

#[tokio::test]
async fn the_ledger_cannot_be_changed_or_cut_by_sql() {
    let scratch = Scratch::new();
    let (store, id) = store_with_session(&scratch).await;
    store.record_decision(decision(id, "r")).await.unwrap();
    store.close().await.unwrap();
    for sql in ["UPDATE decisions SET choice = 'deny'", "DELETE FROM decisions"] {
        let error = scratch.raw().execute_batch(sql).unwrap_err().to_string();
        assert!(error.contains("append only"), "{error}");
    }
}

/// Writes six rows, changes the file behind the triggers' back, and gives the row that verification stops at.
async fn broken_at(tampering: &str) -> i64 {
    let scratch = Scratch::new();
    let (store, id) = store_with_session(&scratch).await;
    for request in ["a", "b", "c"] {
        let number = store.record_decision(decision(id, request)).await.unwrap();
        store.settle_decision(number, Fate::Accepted, 20).await.unwrap();
    }
    assert_eq!(store.verify_ledger().await.unwrap(), 6);
    store.close().await.unwrap();
    let raw = scratch.raw();
    raw.execute_batch("DROP TRIGGER decisions_are_never_changed; DROP TRIGGER decisions_are_never_removed").unwrap();
    raw.execute_batch(tampering).unwrap();
    drop(raw);
    let store = scratch.open();
    match refused(store.verify_ledger().await) {
        StoreError::LedgerBroken { number } => number,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn verification_finds_the_first_row_that_was_tampered_with() {
    assert_eq!(broken_at("UPDATE decisions SET choice = 'deny' WHERE number = 3").await, 3);
    assert_eq!(broken_at("UPDATE decisions SET reason = '' WHERE number = 5").await, 5);
    assert_eq!(broken_at("UPDATE decisions SET fate = 'superseded' WHERE number = 2").await, 2);
    assert_eq!(broken_at("UPDATE decisions SET hash = x'00' WHERE number = 4").await, 4);
    assert_eq!(broken_at("DELETE FROM decisions WHERE number = 1").await, 1);
    assert_eq!(broken_at("DELETE FROM decisions WHERE number = 4").await, 4);
    assert_eq!(broken_at("DELETE FROM decisions WHERE number >= 5").await, 5);
    assert_eq!(broken_at("DELETE FROM decisions").await, 1);
    assert_eq!(broken_at("DELETE FROM ledger_head").await, 1);
    let forged = "INSERT INTO decisions SELECT 7, settles, session, request, at, decided_by, choice, tool, subject,
        reason, digest, waited_ms, outgoing, key, fate, fate_message, prev, hash FROM decisions WHERE number = 1";
    assert_eq!(broken_at(forged).await, 7);
}

#[tokio::test]
async fn the_outbox_keeps_messages_in_the_order_they_were_written() {
    let scratch = Scratch::new();
    let (store, id) = store_with_session(&scratch).await;
    let other = store.put_session(session("b")).await.unwrap();
    let message = |session, id: &str, state| OutboxMessage {
        session,
        id: id.into(),
        body: "{}".into(),
        images: vec![SentImage { media_type: "image/png".into(), data: id.into() }],
        key: "k".into(),
        at: 5,
        state,
    };
    for message in [
        message(id, "z", OutboxState::Queued),
        message(other, "y", OutboxState::Held),
        message(id, "x", OutboxState::Sending),
        message(id, "z", OutboxState::Held),
    ] {
        store.put_outbox(message).await.unwrap();
    }
    let crashed = scratch.as_after_a_crash();
    let after = crashed.open();
    let expected = [
        message(id, "z", OutboxState::Held),
        message(other, "y", OutboxState::Held),
        message(id, "x", OutboxState::Sending),
    ];
    assert_eq!(after.outbox(None).await.unwrap(), expected);
    after.remove_outbox(id, "z".into()).await.unwrap();
    after.remove_outbox(id, "never there".into()).await.unwrap();
    assert_eq!(after.outbox(Some(id)).await.unwrap(), [message(id, "x", OutboxState::Sending)]);
    let error = refused(after.put_outbox(message(SessionId(9), "q", OutboxState::Queued)).await);
    assert!(matches!(error, StoreError::NoSuchSession(_)));
}
