-- Message streams: a node of an older version ignores them.
CREATE TABLE streams (
  id           INTEGER PRIMARY KEY,
  owner        TEXT NOT NULL,
  name         TEXT NOT NULL,
  created      INTEGER NOT NULL,
  first_number INTEGER NOT NULL,
  last_number  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  keep         INTEGER,
  keep_for     INTEGER,
  oldest       INTEGER
) STRICT;
CREATE UNIQUE INDEX streams_by_name ON streams (owner, name);
CREATE TABLE messages (
  stream    INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  sender    TEXT NOT NULL,
  source    TEXT NOT NULL,
  source_id TEXT NOT NULL,
  text      TEXT NOT NULL,
  refs      TEXT NOT NULL,
  bytes     INTEGER NOT NULL,
  PRIMARY KEY (stream, number)
) STRICT;
CREATE UNIQUE INDEX messages_by_source ON messages (stream, source, source_id);
CREATE TABLE cursors (
  stream INTEGER NOT NULL,
  reader TEXT NOT NULL,
  number INTEGER NOT NULL,
  moved  INTEGER NOT NULL,
  PRIMARY KEY (stream, reader)
) STRICT, WITHOUT ROWID;
CREATE TABLE message_gaps (
  stream       INTEGER NOT NULL,
  first_number INTEGER NOT NULL,
  last_number  INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  PRIMARY KEY (stream, first_number)
) STRICT, WITHOUT ROWID;
