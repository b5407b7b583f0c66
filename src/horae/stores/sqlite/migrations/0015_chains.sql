-- requires: stopped nodes
-- Chains: a node of an older version would end an occurrence without starting the tasks that run after it.
ALTER TABLE tasks ADD COLUMN successors TEXT;
ALTER TABLE agenda ADD COLUMN chain TEXT;
ALTER TABLE runs ADD COLUMN chain TEXT;
CREATE TABLE chain_rows (
  task     INTEGER NOT NULL,
  root     TEXT NOT NULL,
  state    TEXT NOT NULL,
  planned  INTEGER,
  attempt  INTEGER NOT NULL,
  awaited  TEXT NOT NULL,
  arrivals TEXT NOT NULL,
  updated  INTEGER NOT NULL,
  PRIMARY KEY (task, root)
) STRICT, WITHOUT ROWID;
CREATE INDEX chain_rows_of_root ON chain_rows (root);
CREATE UNIQUE INDEX chain_rows_planned ON chain_rows (task, planned) WHERE planned IS NOT NULL;
CREATE INDEX chain_rows_updated ON chain_rows (updated);
CREATE INDEX chain_rows_of_task ON chain_rows (task, updated);
