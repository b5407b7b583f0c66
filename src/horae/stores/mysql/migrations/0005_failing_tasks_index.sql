-- Active tasks whose last occurrence failed, in creation order: what needs attention is found without reading all tasks.
ALTER TABLE @task_state
  ADD COLUMN failing TINYINT AS (CASE WHEN state = 'active' AND failures > 0 THEN 1 END) STORED,
  ADD INDEX task_state_failing (failing, task);
