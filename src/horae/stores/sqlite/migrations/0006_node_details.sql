-- Details of nodes for operators, and a draining flag. Existing rows are kept, because recovery finds live runs by them.
-- New columns have defaults, so that a running node of an older version can join again.
ALTER TABLE nodes RENAME TO nodes_before;
CREATE TABLE nodes (
  id           TEXT NOT NULL PRIMARY KEY,
  home         TEXT NOT NULL,
  version      TEXT NOT NULL,
  joined       INTEGER NOT NULL,
  renewed      INTEGER NOT NULL,
  renewals     INTEGER NOT NULL,
  host         TEXT NOT NULL DEFAULT '',
  load         INTEGER NOT NULL DEFAULT 0,
  capacity     INTEGER NOT NULL DEFAULT 0,
  clock_offset INTEGER NOT NULL DEFAULT 0,
  draining     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO nodes (id, home, version, joined, renewed, renewals)
SELECT id, home, version, joined, renewed, renewals FROM nodes_before;
DROP TABLE nodes_before;
