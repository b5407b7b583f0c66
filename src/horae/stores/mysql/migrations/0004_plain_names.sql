-- requires: stopped nodes
-- Tables, columns and indexes get the names of what they hold. Statements of an older version find none of them. Each
-- statement is done wholly or not at all, and fails with one of the codes of a repetition when it was done already.
RENAME TABLE @standings TO @task_state;
RENAME TABLE @going TO @live_runs;
RENAME TABLE @barred TO @blocked_owners;
RENAME TABLE @remembered TO @metadata;
RENAME TABLE @seats TO @lane_slots;
RENAME TABLE @tallies TO @counters;
RENAME TABLE @counted TO @counter_deltas;
RENAME TABLE @folding TO @counter_lock;
RENAME TABLE @presence TO @node_locks;
ALTER TABLE @lanes CHANGE COLUMN seats slot_limit INT;
ALTER TABLE @nodes CHANGE COLUMN carrying load_count INT NOT NULL;

-- A column that others are computed from cannot be renamed, so these are dropped before and added again after it.
ALTER TABLE @agenda DROP INDEX agenda_lines, DROP COLUMN line;
ALTER TABLE @agenda CHANGE COLUMN stand state TINYINT NOT NULL;
ALTER TABLE @agenda
  ADD COLUMN queue VARCHAR(255) AS (CASE state WHEN 1 THEN owner WHEN 3 THEN lane END) STORED,
  ADD INDEX agenda_queues (state, queue, urgency, due, task, slot);
ALTER TABLE @task_state DROP INDEX standings_in_trouble, DROP COLUMN trouble;
ALTER TABLE @task_state
  ADD COLUMN inactive_state VARCHAR(16) AS (CASE WHEN state <> 'active' THEN state END) STORED,
  ADD INDEX task_state_inactive (inactive_state, task);
ALTER TABLE @task_state RENAME INDEX standings_over TO task_state_ended;
ALTER TABLE @live_runs RENAME INDEX going_of_task TO live_runs_of_task;
ALTER TABLE @live_runs RENAME INDEX going_on_node TO live_runs_of_node;
-- Nothing has read this column since schema 3; nodes of the version before that one needed it.
ALTER TABLE @runs DROP COLUMN trouble;

-- Up to here nothing but a target's own skip wrote the reason `gate_closed`, which is for gates alone from now on.
UPDATE @runs SET reason = 'skipped_by_target' WHERE state = 'skipped' AND ended_as = 'skipped' AND reason = 'gate_closed';
UPDATE @events SET detail = 'skipped_by_target' WHERE kind = 'run.skipped' AND detail = 'gate_closed';
