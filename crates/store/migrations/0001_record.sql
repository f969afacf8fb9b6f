-- The record: servers, sessions, the log of frames, the ledger, and what is derived from the log.
-- There is no column for a token anywhere, on purpose.

CREATE TABLE servers (
  id           TEXT    NOT NULL PRIMARY KEY,
  place        INTEGER NOT NULL,
  name         TEXT    NOT NULL,
  base_url     TEXT    NOT NULL,
  protocol     TEXT    NOT NULL,
  options      TEXT    NOT NULL,
  paused       INTEGER NOT NULL,
  practice     INTEGER NOT NULL,
  token_state  TEXT    NOT NULL,
  last_seen_at INTEGER,
  removed_at   INTEGER
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: a session's number is never given to another one.
CREATE TABLE sessions (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  server            TEXT    NOT NULL,
  remote_id         TEXT    NOT NULL,
  title             TEXT,
  agent             TEXT,
  state             TEXT    NOT NULL,
  waiting           INTEGER NOT NULL,
  waiting_kind      TEXT,
  activity          TEXT,
  created_at        INTEGER,
  updated_at        INTEGER,
  last_event_at     INTEGER,
  synced_updated_at INTEGER,
  archived          INTEGER NOT NULL,
  ended             TEXT,
  UNIQUE (server, remote_id)
) STRICT;

-- The wire as received. `thread` is 0 for the session's own events, else the thread's id as text.
-- `sse_id` is NULL where the block had none and 1 where it equals `event_id`, else the text.
-- kind: 0 preview, 1 buffered, 2 control. origin: 0 stream, 1 list, 2 history, 3 answer, 4 local.
CREATE TABLE frames (
  seq         INTEGER PRIMARY KEY,
  session     INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  origin      INTEGER NOT NULL,
  kind        INTEGER NOT NULL,
  event_id    TEXT,
  thread      ANY     NOT NULL,
  sse_id      ANY,
  name        TEXT,
  repaired    INTEGER NOT NULL,
  too_large   INTEGER,
  received_at INTEGER NOT NULL,
  checksum    INTEGER NOT NULL,
  data        TEXT    NOT NULL
) STRICT;

CREATE INDEX frames_by_place ON frames (session, position);

-- Only persisted events are unique: previews share their ids, control frames have none.
CREATE UNIQUE INDEX frames_by_identity ON frames (session, event_id, thread)
  WHERE kind = 1 AND event_id IS NOT NULL;

-- `log_seq` is the number of the last change of the session's log; projections compare theirs with it.
CREATE TABLE cursors (
  session INTEGER PRIMARY KEY,
  after   TEXT,
  log_seq INTEGER NOT NULL
) STRICT;

-- id = session * 2^32 + a number in the session, so that search finds the session without a join.
-- `changed` counts every change of a searchable text; the index follows it.
CREATE TABLE items (
  id          INTEGER PRIMARY KEY,
  session     INTEGER NOT NULL,
  item        TEXT    NOT NULL,
  place       INTEGER NOT NULL,
  changed     INTEGER NOT NULL,
  body        TEXT    NOT NULL,
  search_text TEXT    NOT NULL,
  UNIQUE (session, item)
) STRICT;

CREATE INDEX items_by_place ON items (session, place, item);
CREATE INDEX items_by_change ON items (changed);

CREATE TABLE requests (
  session INTEGER NOT NULL,
  id      TEXT    NOT NULL,
  place   INTEGER NOT NULL,
  body    TEXT    NOT NULL,
  PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage (
  session INTEGER PRIMARY KEY,
  body    TEXT NOT NULL
) STRICT;

CREATE TABLE projections (
  session     INTEGER PRIMARY KEY,
  version     INTEGER NOT NULL,
  through_seq INTEGER NOT NULL
) STRICT;

-- The ledger. A row is a decision (`settles` is NULL) or the fate of one. Each row's hash covers its fields and
-- the hash of the row before it.
CREATE TABLE decisions (
  number       INTEGER PRIMARY KEY,
  settles      INTEGER,
  session      INTEGER NOT NULL,
  request      TEXT    NOT NULL,
  at           INTEGER NOT NULL,
  decided_by   TEXT    NOT NULL,
  choice       TEXT    NOT NULL,
  tool         TEXT,
  subject      TEXT    NOT NULL,
  reason       TEXT,
  digest       TEXT    NOT NULL,
  waited_ms    INTEGER NOT NULL,
  outgoing     TEXT,
  key          TEXT    NOT NULL,
  fate         TEXT    NOT NULL,
  fate_message TEXT,
  prev         BLOB    NOT NULL,
  hash         BLOB    NOT NULL
) STRICT;

CREATE INDEX decisions_by_request ON decisions (session, request);
CREATE INDEX decisions_by_settled ON decisions (settles) WHERE settles IS NOT NULL;

-- Where the chain ends: shows rows cut off its end, which the chain alone cannot.
CREATE TABLE ledger_head (
  only   INTEGER PRIMARY KEY CHECK (only = 1),
  number INTEGER NOT NULL,
  hash   BLOB    NOT NULL
) STRICT;

CREATE TRIGGER decisions_are_never_changed BEFORE UPDATE ON decisions
BEGIN
  SELECT RAISE(ABORT, 'the ledger is append only');
END;

CREATE TRIGGER decisions_are_never_removed BEFORE DELETE ON decisions
BEGIN
  SELECT RAISE(ABORT, 'the ledger is append only');
END;

CREATE TABLE grants (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  server     TEXT    NOT NULL,
  tool       TEXT,
  pattern    TEXT    NOT NULL,
  words      TEXT    NOT NULL,
  decision   INTEGER NOT NULL,
  granted_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;

CREATE TABLE connection_log (
  id      INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  what    TEXT    NOT NULL,
  cursor  TEXT,
  detail  TEXT
) STRICT;

CREATE INDEX connection_log_by_session ON connection_log (session, id);

CREATE TABLE outbox (
  place   INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  id      TEXT    NOT NULL,
  body    TEXT    NOT NULL,
  key     TEXT    NOT NULL,
  at      INTEGER NOT NULL,
  state   TEXT    NOT NULL,
  UNIQUE (session, id)
) STRICT;
