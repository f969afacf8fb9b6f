use contract::{
    request::RequestKind,
    server::{Header, ServerId, TokenState},
    session::{Activity, ClosedReason, RunOptions, SessionState},
};
use pretty_assertions::assert_eq;
use store::{SessionRecord, StoredServer, StoredSession};

use crate::support::{Scratch, server, session};

#[tokio::test]
async fn servers_keep_their_order_through_edits_and_take_a_new_one() {
    let scratch = Scratch::new();
    let store = scratch.open();
    for id in ["a", "b", "c"] {
        store.put_server(server(id)).await.unwrap();
    }
    let mut edited = StoredServer { name: "renamed".into(), token: TokenState::SessionOnly, ..server("a") };
    edited.options.headers = vec![Header { name: "x-team".into(), value: "7".into() }];
    edited.last_seen_at = None;
    store.put_server(edited.clone()).await.unwrap();
    assert_eq!(store.servers().await.unwrap(), [edited.clone(), server("b"), server("c")]);
    let order = ["c", "a"].map(|id| ServerId(id.into())).to_vec();
    store.reorder_servers(order.clone()).await.unwrap();
    store.reorder_servers(order).await.unwrap();
    store.put_server(server("d")).await.unwrap();
    assert_eq!(store.servers().await.unwrap(), [server("c"), edited, server("b"), server("d")]);
}

#[tokio::test]
async fn a_removed_server_is_gone_from_the_list_but_its_sessions_and_name_stay() {
    let scratch = Scratch::new();
    let store = scratch.open();
    store.put_server(server("s")).await.unwrap();
    let id = store.put_session(session("kept")).await.unwrap();
    store.remove_server(ServerId("s".into()), 9).await.unwrap();
    assert_eq!(store.servers().await.unwrap(), []);
    assert_eq!(store.server_names().await.unwrap(), [(ServerId("s".into()), "s's name".into(), true)]);
    assert_eq!(store.server(ServerId("s".into())).await.unwrap(), Some(server("s")));
    assert!(store.session(id).await.unwrap().is_some());
    store.put_server(server("s")).await.unwrap();
    assert_eq!(store.server_names().await.unwrap(), [(ServerId("s".into()), "s's name".into(), false)]);
}

#[tokio::test]
async fn a_session_keeps_its_number_and_every_field() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let full = SessionRecord {
        title: Some("t".into()),
        agent: Some("ag".into()),
        state: SessionState::Other { word: "odd".into() },
        waiting: 2,
        waiting_kind: Some(RequestKind::ClientTool),
        activity: Some(Activity::Tool { name: "bash".into() }),
        created_at: Some(1),
        updated_at: Some(2),
        last_event_at: Some(3),
        synced_updated_at: Some(4),
        archived: true,
        ended: Some(ClosedReason::ServerRemoved),
        run_options: Some(RunOptions { answer_timeout_s: 7, ..RunOptions::default() }),
        ..session("a")
    };
    let id = store.put_session(session("a")).await.unwrap();
    let ids = store.put_sessions(vec![session("b"), full.clone()]).await.unwrap();
    assert_eq!(ids[1], id);
    assert_eq!(store.session(id).await.unwrap(), Some(StoredSession { id, record: full }));
    let mut elsewhere = session("a");
    elsewhere.server = ServerId("other".into());
    assert_ne!(store.put_session(elsewhere).await.unwrap(), id);
}

#[tokio::test]
async fn sessions_come_last_active_first_and_can_be_one_servers() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let mut old = session("old");
    old.created_at = Some(5);
    let mut new = session("new");
    new.updated_at = Some(50);
    let mut other = session("other");
    other.server = ServerId("other".into());
    other.last_event_at = Some(20);
    store.put_sessions(vec![new, old, other]).await.unwrap();
    let names = async |server: Option<&str>| -> Vec<_> {
        let server = server.map(|id| ServerId(id.into()));
        store.sessions(server).await.unwrap().into_iter().map(|session| session.record.remote_id).collect()
    };
    assert_eq!(names(None).await, ["new", "other", "old"]);
    assert_eq!(names(Some("s")).await, ["new", "old"]);
}
