-- requires: stopped nodes
-- Tables, columns and indexes get the names of what they hold. Statements of an older version find none of them.
ALTER TABLE standings RENAME TO task_state;
ALTER TABLE barred RENAME TO blocked_owners;
ALTER TABLE remembered RENAME TO metadata;
ALTER TABLE seats RENAME TO lane_slots;
ALTER TABLE tallies RENAME TO counters;
ALTER TABLE lanes RENAME COLUMN seats TO slot_limit;
ALTER TABLE agenda RENAME COLUMN stand TO state;

DROP INDEX standings_over;
DROP INDEX standings_in_trouble;
DROP INDEX standings_done;
DROP INDEX runs_asked_to_end;
DROP INDEX runs_in_trouble;
CREATE INDEX task_state_ended ON task_state (ended) WHERE ended IS NOT NULL;
CREATE INDEX task_state_paused_or_failed ON task_state (state, task) WHERE state IN ('paused', 'failed');
CREATE INDEX task_state_completed_or_cancelled ON task_state (state, task) WHERE state IN ('completed', 'cancelled');
CREATE INDEX runs_cancel_requested ON runs (node) WHERE live = 1 AND cancel IS NOT NULL;
CREATE INDEX runs_unsuccessful ON runs (state, planned, attempt, owner)
WHERE state IN ('failed', 'timed_out', 'lost', 'cancelled', 'skipped');

-- Up to here nothing but a target's own skip wrote the reason `gate_closed`, which is for gates alone from now on.
UPDATE runs SET reason = 'skipped_by_target'
WHERE state IN ('failed', 'timed_out', 'lost', 'cancelled', 'skipped') AND state = 'skipped' AND reason = 'gate_closed';
UPDATE events SET detail = 'skipped_by_target' WHERE kind = 'run.skipped' AND detail = 'gate_closed';
