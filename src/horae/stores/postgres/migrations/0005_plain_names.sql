-- requires: stopped nodes
-- Tables, columns and indexes get the names of what they hold. Statements of an older version find none of them.
ALTER TABLE @standings RENAME TO task_state;
ALTER TABLE @going RENAME TO live_runs;
ALTER TABLE @told RENAME TO event_batches;
ALTER TABLE @bundles RENAME TO packed_events;
ALTER TABLE @barred RENAME TO blocked_owners;
ALTER TABLE @remembered RENAME TO metadata;
ALTER TABLE @seats RENAME TO lane_slots;
ALTER TABLE @tallies RENAME TO counters;
ALTER TABLE @counted RENAME TO counter_deltas;
ALTER TABLE @lanes RENAME COLUMN seats TO slot_limit;
ALTER TABLE @agenda RENAME COLUMN stand TO state;
ALTER TABLE @packed_events RENAME COLUMN gone TO removed;

ALTER INDEX @standings_pkey RENAME TO task_state_pkey;
ALTER INDEX @standings_over RENAME TO task_state_ended;
ALTER INDEX @standings_in_trouble RENAME TO task_state_paused_or_failed;
ALTER INDEX @standings_done RENAME TO task_state_completed_or_cancelled;
ALTER INDEX @going_pkey RENAME TO live_runs_pkey;
ALTER INDEX @going_of_task RENAME TO live_runs_of_task;
ALTER INDEX @going_asked_to_end RENAME TO live_runs_cancel_requested;
ALTER INDEX @runs_in_trouble RENAME TO runs_unsuccessful;
ALTER INDEX @told_pkey RENAME TO event_batches_pkey;
ALTER INDEX @told_in_order RENAME TO event_batches_numbered;
ALTER INDEX @told_unnumbered RENAME TO event_batches_unnumbered;
ALTER INDEX @bundles_pkey RENAME TO packed_events_pkey;
ALTER INDEX @barred_pkey RENAME TO blocked_owners_pkey;
ALTER INDEX @remembered_pkey RENAME TO metadata_pkey;
ALTER INDEX @seats_pkey RENAME TO lane_slots_pkey;
ALTER INDEX @tallies_pkey RENAME TO counters_pkey;
ALTER FUNCTION @keep_labels() RENAME TO sync_labels;

-- An older version recognises a schema of Horae by this name. It reads the schema version then, and refuses it as newer;
-- without the name it would take the tables for those of another program.
CREATE VIEW @standings AS SELECT 'renamed to task_state' AS note;

-- Up to here nothing but a target's own skip wrote the reason `gate_closed`, which is for gates alone from now on.
UPDATE @runs SET reason = 'skipped_by_target' WHERE state = 'skipped' AND reason = 'gate_closed';
UPDATE @events SET detail = 'skipped_by_target' WHERE kind = 'run.skipped' AND detail = 'gate_closed';
