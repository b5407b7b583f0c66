-- requires: stopped nodes
-- Chains: a node of an older version would end an occurrence without starting the tasks that run after it.
ALTER TABLE @tasks ADD COLUMN successors text;
ALTER TABLE @agenda ADD COLUMN chain text;
ALTER TABLE @live_runs ADD COLUMN chain text;
ALTER TABLE @runs ADD COLUMN chain text;
CREATE TABLE @chain_rows (
  task     bigint NOT NULL,
  root     text NOT NULL,
  state    text NOT NULL,
  planned  bigint,
  attempt  integer NOT NULL,
  awaited  text NOT NULL,
  arrivals text NOT NULL,
  updated  bigint NOT NULL,
  PRIMARY KEY (task, root)
);
CREATE INDEX chain_rows_of_root ON @chain_rows (root);
CREATE UNIQUE INDEX chain_rows_planned ON @chain_rows (task, planned) WHERE planned IS NOT NULL;
CREATE INDEX chain_rows_updated ON @chain_rows (updated);
CREATE INDEX chain_rows_of_task ON @chain_rows (task, updated);
-- One row per owner with chains; whoever edits links holds it.
CREATE TABLE @chain_owners (owner text NOT NULL PRIMARY KEY);
