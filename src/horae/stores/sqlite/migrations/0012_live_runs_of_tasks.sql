-- requires: stopped nodes
-- Live runs of a task are found by an index of live runs, as on a database server; up to here each task had a list of
-- their numbers, which statements of an older version would write.
CREATE INDEX runs_live_of_task ON runs (task) WHERE live = 1;
ALTER TABLE task_state DROP COLUMN live;
