-- requires: stopped nodes
-- Labels of nodes, and the queues of tasks that require labels: a node of an older version does not know the state 5.
ALTER TABLE nodes ADD COLUMN labels TEXT NOT NULL DEFAULT '';
CREATE INDEX agenda_queued ON agenda (lane, due) WHERE state = 5;
