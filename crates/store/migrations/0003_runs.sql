-- Turns that are asked for one by one: how each session asks for its next one (JSON, NULL = the default), and the
-- images of messages that are not at the server yet (JSON).

ALTER TABLE sessions ADD COLUMN run_options TEXT;
ALTER TABLE outbox ADD COLUMN images TEXT NOT NULL DEFAULT '[]';
