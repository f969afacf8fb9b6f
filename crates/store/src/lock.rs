//! One process: a locked file beside the database. It also remembers how the last process left the database, so that
//! one that was not closed, or in which damage was seen, is looked at closely.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use crate::StoreError;

/// How the last process left the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Still open: it was killed, or it is this one.
    Open,
    /// Closed in order.
    Closed,
    /// Damage was seen in it.
    Damaged,
}

impl Left {
    fn word(self) -> &'static [u8] {
        match self {
            Self::Open => b"open\n",
            Self::Closed => b"closed\n",
            Self::Damaged => b"damaged\n",
        }
    }
}

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

    /// How the last process to hold it left the database. A file without a known word counts as left open.
    pub(crate) fn left(&mut self) -> Result<Left, StoreError> {
        let mut word = Vec::new();
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.read_to_end(&mut word))
            .map_err(|error| StoreError::file(&self.path, error))?;
        let known = [Left::Closed, Left::Damaged].into_iter().find(|left| left.word() == word);
        Ok(known.unwrap_or(Left::Open))
    }

    /// Writes down how the database stands now.
    pub(crate) fn leave(&mut self, left: Left) -> Result<(), StoreError> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.seek(SeekFrom::Start(0)))
            .and_then(|_| self.file.write_all(left.word()))
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
