-- requires: stopped nodes
-- An ordinary run changes the status of its task in place (HOT): no index has a column that it changes, and pages have
-- room for the new versions of all their rows. `listed_state` and `listed_end` leave out a task that an ordinary success
-- completed: the ledger marks the run that did (`completes`), and that mark is indexed. A node of an older version would
-- remove such a run without its task, which no list would find then.
DROP INDEX @task_state_ended, @task_state_paused_or_failed, @task_state_completed_or_cancelled, @task_state_failing,
  @task_state_pause_cause;
ALTER TABLE @task_state SET (fillfactor = 40);
ALTER TABLE @task_state
  ADD COLUMN completed_by_run smallint,
  ADD COLUMN listed_state text COLLATE "C" GENERATED ALWAYS AS (
    CASE
      WHEN state = 'active' THEN CASE WHEN failures > 0 THEN 'failing' END
      WHEN state <> 'completed' OR completed_by_run IS NULL THEN state
    END
  ) STORED,
  ADD COLUMN listed_end bigint GENERATED ALWAYS AS (CASE WHEN completed_by_run IS NULL THEN ended END) STORED;
CREATE INDEX task_state_listed ON @task_state (listed_state, task) WHERE listed_state IS NOT NULL;
CREATE INDEX task_state_pause_cause ON @task_state (pause_cause, task) WHERE listed_state = 'paused';
CREATE INDEX task_state_ended ON @task_state (listed_end) WHERE listed_end IS NOT NULL;

ALTER TABLE @runs ADD COLUMN completes smallint;
CREATE INDEX runs_completing ON @runs (task) WHERE completes = 1;
