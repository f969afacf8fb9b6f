-- Search over the items' texts. Filled behind the write path; `search_cursor` says how far.

-- Three characters and more, case folded. Keeps no copy of the text.
CREATE VIRTUAL TABLE items_fts USING fts5 (
  text,
  content = '',
  contentless_delete = 1,
  tokenize = 'trigram'
);

-- One and two characters of Chinese, Japanese and Korean, which trigrams cannot find: the text's pairs as words.
CREATE VIRTUAL TABLE items_pairs USING fts5 (
  pairs,
  content = '',
  contentless_delete = 1,
  detail = none,
  prefix = '1',
  tokenize = 'unicode61 remove_diacritics 0'
);

CREATE TABLE search_cursor (
  only    INTEGER PRIMARY KEY CHECK (only = 1),
  changed INTEGER NOT NULL
) STRICT;

INSERT INTO search_cursor (only, changed) VALUES (1, 0);
