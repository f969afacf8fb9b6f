//! Opening: the lock, the look at the file, the permissions, the settings of each connection.

use std::{
    fs::{self, OpenOptions},
    path::Path,
};

use contract::Millis;
use rusqlite::{Connection, OpenFlags};

use crate::{
    Opened, Store, StoreError,
    damage::{Check, check_pages, look_before_opening, set_aside},
    lock::{Left, Lock, beside, private},
    migrate::migrate,
    store::READERS,
};

/// Statements kept prepared per connection.
const STATEMENTS: usize = 96;

/// Of the writing connection. The log is appended in large pages: fewer splits, fewer WAL frames. Appending needs the
/// last pages of each tree only: a larger cache would but take fresh memory for every page it writes.
const WRITER_SETTINGS: &str = "
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA cache_size = -16384;
    PRAGMA recursive_triggers = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA temp_store = MEMORY;
    PRAGMA busy_timeout = 5000;";

/// Of the reading connections.
const READER_SETTINGS: &str = "
    PRAGMA query_only = ON;
    PRAGMA cache_size = -16384;
    PRAGMA mmap_size = 268435456;
    PRAGMA trusted_schema = OFF;
    PRAGMA temp_store = MEMORY;
    PRAGMA busy_timeout = 5000;";

/// Opens or creates the database at `path`. Blocks: call it off the runtime's threads.
pub(crate) fn open(path: &Path, now: Millis) -> Result<Opened, StoreError> {
    if let Some(folder) = path.parent()
        && !folder.as_os_str().is_empty()
    {
        fs::create_dir_all(folder).map_err(|error| StoreError::file(folder, error))?;
    }
    let mut lock = Lock::take(path)?;
    let left = lock.left()?;
    let mut aside = None;
    let (conn, check) = match open_sound(path, left) {
        Err(error) if error.is_damage() => {
            aside = Some(set_aside(path, now)?);
            open_sound(path, Left::Closed)?
        }
        opened => opened?,
    };
    lock.leave(Left::Open)?;
    let readers = (0..READERS).map(|_| open_reader(path)).collect::<Result<Vec<_>, _>>()?;
    Ok(Opened { store: Store::start(path, conn, readers, lock, check)?, set_aside: aside })
}

fn open_sound(path: &Path, left: Left) -> Result<(Connection, Check), StoreError> {
    look_before_opening(path)?;
    make_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.execute_batch(WRITER_SETTINGS)?;
    let check = Check::due(left, path);
    if check == Check::Now {
        check_pages(&conn)?;
    }
    migrate(&mut conn)?;
    Ok((conn, check))
}

fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.execute_batch(READER_SETTINGS)?;
    Ok(conn)
}

/// Creates the file for its owner alone, whatever the umask is, and narrows what exists. SQLite gives its `-wal` and
/// `-shm` the mode of the database.
fn make_private(path: &Path) -> Result<(), StoreError> {
    private(OpenOptions::new().read(true).write(true).create(true).truncate(false))
        .open(path)
        .map_err(|error| StoreError::file(path, error))?;
    #[cfg(unix)]
    for suffix in ["", "-wal", "-shm", ".lock"] {
        use std::os::unix::fs::PermissionsExt;
        let file = beside(path, suffix);
        if file.exists() {
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600))
                .map_err(|error| StoreError::file(&file, error))?;
        }
    }
    Ok(())
}
