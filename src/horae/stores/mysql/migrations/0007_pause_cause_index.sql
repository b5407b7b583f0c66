-- Paused tasks by cause, in creation order: those that wait for approval or lost their code are found among any number.
ALTER TABLE @task_state ADD INDEX task_state_pause_cause (pause_cause, task);
