-- requires: stopped nodes
-- Labels of nodes, and the queues of tasks that require labels: a node of an older version does not know the state 5. Each
-- statement is done wholly or not at all, and fails with one of the codes of a repetition when it was done already.
ALTER TABLE @nodes ADD COLUMN labels VARCHAR(4200) NOT NULL DEFAULT '';
ALTER TABLE @agenda DROP INDEX agenda_queues, DROP COLUMN queue;
ALTER TABLE @agenda
  ADD COLUMN queue VARCHAR(255) AS (CASE state WHEN 1 THEN owner WHEN 3 THEN lane WHEN 5 THEN lane END) STORED,
  ADD INDEX agenda_queues (state, queue, urgency, due, task, slot);
