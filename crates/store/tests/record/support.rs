//! Values and folders the tests share.

use std::path::{Path, PathBuf};

use contract::{
    item::{Item, ItemBody, Message, MessageState, Part, Role, Text},
    server::{ServerId, ServerOptions, TokenState},
    session::{SessionId, SessionState, Usage},
    wire::{Cursor, Frame, FrameKind, Identity, LoggedFrame, Origin},
};
use store::{CursorMove, ItemsSave, SessionRecord, Store, StoreError, StoredItem, StoredServer};
use tempfile::TempDir;

/// A folder of its own with a path for a database in it.
pub struct Scratch {
    pub folder: TempDir,
    pub path: PathBuf,
}

impl Scratch {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.db");
        Self { folder, path }
    }

    pub fn open(&self) -> Store {
        let opened = Store::open(&self.path, 1).unwrap();
        assert_eq!(opened.set_aside, None);
        opened.store
    }

    /// What a `kill -9` at this moment would leave: the files as they are, without the lock's holder.
    pub fn as_after_a_crash(&self) -> Self {
        let copy = Self::new();
        for suffix in ["", "-wal"] {
            std::fs::copy(suffixed(&self.path, suffix), suffixed(&copy.path, suffix)).unwrap();
        }
        copy
    }

    /// A look behind the store's back.
    pub fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(&self.path).unwrap()
    }
}

pub fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

pub fn server(id: &str) -> StoredServer {
    StoredServer {
        id: ServerId(id.into()),
        name: format!("{id}'s name"),
        base_url: "http://127.0.0.1:1".into(),
        protocol: "managed".into(),
        options: ServerOptions { dialect: Some("qoder".into()), ..ServerOptions::default() },
        paused: false,
        practice: false,
        token: TokenState::Keyring,
        last_seen_at: Some(7),
    }
}

pub fn session(remote_id: &str) -> SessionRecord {
    SessionRecord {
        server: ServerId("s".into()),
        remote_id: remote_id.into(),
        title: None,
        agent: None,
        state: SessionState::Idle,
        waiting: 0,
        waiting_kind: None,
        activity: None,
        created_at: None,
        updated_at: None,
        last_event_at: None,
        synced_updated_at: None,
        archived: false,
        ended: None,
        run_options: None,
    }
}

pub fn frame(kind: FrameKind, event_id: Option<&str>, position: i64, data: &str) -> LoggedFrame {
    LoggedFrame {
        frame: Frame {
            id: event_id.map(str::to_owned),
            name: Some("agent.message".into()),
            data: data.into(),
            repaired: false,
            too_large: None,
        },
        origin: Origin::Stream,
        kind,
        identity: event_id.map(|id| Identity { event_id: id.into(), thread: None }),
        position,
        received_at: 1_000 + position,
    }
}

pub fn buffered(event_id: &str, position: i64, data: &str) -> LoggedFrame {
    frame(FrameKind::Buffered, Some(event_id), position, data)
}

pub fn to(cursor: &str) -> CursorMove {
    CursorMove::To(Cursor(cursor.into()))
}

pub async fn read_all(store: &Store, session: SessionId) -> Vec<LoggedFrame> {
    let mut reader = store.frames(session);
    let mut frames = Vec::new();
    while let Some(page) = reader.next().await.unwrap() {
        frames.extend(page);
    }
    frames
}

pub fn item(id: &str, order: i64, text: &str) -> StoredItem {
    let body = ItemBody::Message(Message {
        role: Role::Agent,
        parts: vec![Part::Text(Text { text: text.into(), chars: text.chars().count() as u64, handle: None })],
        state: MessageState::Done,
    });
    StoredItem {
        item: Item { id: id.into(), order, turn: None, thread: None, at: order, body },
        search_text: text.into(),
    }
}

pub fn save(upserts: Vec<StoredItem>) -> ItemsSave {
    ItemsSave {
        replace_all: false,
        upserts,
        gone: Vec::new(),
        through_seq: 0,
        requests: Vec::new(),
        usage: Usage::default(),
    }
}

pub async fn index_all(store: &Store) {
    while store.index_step(2).await.unwrap() > 0 {}
}

#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>) -> StoreError {
    result.expect_err("this must be refused")
}
