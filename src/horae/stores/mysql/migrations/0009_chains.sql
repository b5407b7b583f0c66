-- requires: stopped nodes
-- Chains: a node of an older version would end an occurrence without starting the tasks that run after it. Each statement
-- is done wholly or not at all, and fails with one of the codes of a repetition when it was done already.
ALTER TABLE @tasks ADD COLUMN successors LONGTEXT;
ALTER TABLE @agenda ADD COLUMN chain TEXT;
ALTER TABLE @live_runs ADD COLUMN chain TEXT;
ALTER TABLE @runs ADD COLUMN chain TEXT;
CREATE TABLE IF NOT EXISTS @chain_rows (
  task     BIGINT NOT NULL,
  root     VARCHAR(255) NOT NULL,
  state    VARCHAR(16) NOT NULL,
  planned  BIGINT,
  attempt  INT NOT NULL,
  awaited  LONGTEXT NOT NULL,
  arrivals LONGTEXT NOT NULL,
  updated  BIGINT NOT NULL,
  PRIMARY KEY (task, root),
  KEY chain_rows_of_root (root),
  UNIQUE KEY chain_rows_planned (task, planned),
  KEY chain_rows_updated (updated),
  KEY chain_rows_of_task (task, updated)
) {options};
-- One row per owner with chains; whoever edits links holds it.
CREATE TABLE IF NOT EXISTS @chain_owners (owner VARCHAR(255) NOT NULL PRIMARY KEY) {options};
