//! One process: a locked file beside the database. It also remembers whether the last process closed the store,
//! so that a file that was not closed is looked at closely.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use crate::StoreError;

const OPEN: &[u8] = b"open\n";
const CLOSED: &[u8] = b"closed\n";

/// The lock. Held until dropped; the file stays, since removing it would let two processes lock two files.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of the database at `database`.
    ///
    /// # Errors
    /// [`StoreError::Locked`] when someone has it, [`StoreError::File`] when the file cannot be used.
    pub(crate) fn take(database: &Path) -> Result<Self, StoreError> {
        let path = beside(database, ".lock");
        let file = private(OpenOptions::new().read(true).write(true).create(true).truncate(false))
            .open(&path)
            .map_err(|error| StoreError::file(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file, path }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked { path }),
            Err(TryLockError::Error(error)) => Err(StoreError::file(&path, error)),
        }
    }

    /// Whether the last process to hold it closed its store.
    pub(crate) fn closed_last_time(&mut self) -> Result<bool, StoreError> {
        let mut word = Vec::new();
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.read_to_end(&mut word))
            .map_err(|error| StoreError::file(&self.path, error))?;
        Ok(word == CLOSED)
    }

    pub(crate) fn mark_open(&mut self) -> Result<(), StoreError> {
        self.mark(OPEN)
    }

    pub(crate) fn mark_closed(&mut self) -> Result<(), StoreError> {
        self.mark(CLOSED)
    }

    fn mark(&mut self, word: &[u8]) -> Result<(), StoreError> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)))
            .and_then(|_| self.file.write_all(word))
            .map_err(|error| StoreError::file(&self.path, error))
    }
}

/// The path with something appended to its last part.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes what is created readable by its owner alone.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
