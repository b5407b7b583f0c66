-- Active tasks whose last occurrence failed, in creation order: what needs attention is found without reading all tasks.
CREATE INDEX task_state_failing ON task_state (task) WHERE state = 'active' AND failures > 0;
