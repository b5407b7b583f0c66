-- Paused tasks by cause, in creation order: those that wait for approval or lost their code are found among any number.
CREATE INDEX task_state_pause_cause ON task_state (pause_cause, task) WHERE state = 'paused';
