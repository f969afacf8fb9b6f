//! How much of a server's events is kept on disk, against the cap that the server has (S-17).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use contract::server::ServerId;
use store::Store;
use tokio::sync::OnceCell;

/// The cap on what is kept of one server, in bytes, where the person set no other.
pub const DEFAULT_DISK_CAP: u64 = 8 * 1024 * 1024 * 1024;

/// What is kept of one server. Counted once from the record, then along with what is committed.
#[derive(Debug, Default)]
pub struct Kept {
    counted: OnceCell<()>,
    bytes: AtomicU64,
}

impl Kept {
    /// Whether the record was counted.
    pub fn is_counted(&self) -> bool {
        self.counted.initialized()
    }

    /// Counts the record, once. A record that cannot be read counts as empty: whoever writes to it is told.
    pub async fn count(&self, store: &Store, server: &ServerId) {
        let count = async {
            match store.kept_bytes(server.clone()).await {
                Ok(bytes) => {
                    self.bytes.fetch_add(bytes, Ordering::Relaxed);
                }
                Err(error) => tracing::warn!(server_id = server.0, %error, "what is kept could not be counted"),
            }
        };
        self.counted.get_or_init(|| count).await;
    }

    /// So much was committed.
    pub fn add(&self, bytes: u64) {
        // Before the record was counted, the count will hold it.
        if self.is_counted() {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Bytes of events that are kept.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// What is kept of each server.
#[derive(Debug, Default)]
pub struct KeptByServer(Mutex<HashMap<ServerId, Arc<Kept>>>);

impl KeptByServer {
    /// What is kept of this one.
    pub fn of(&self, server: &ServerId) -> Arc<Kept> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(server.clone()).or_default())
    }
}
