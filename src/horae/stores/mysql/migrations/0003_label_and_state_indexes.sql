-- Tasks are found by their labels, for everybody and for one owner, in the order in which they were added. The statements
-- that write tasks write them. Whatever is there already is looked at again: this step may have been taken and not noted.
CREATE TABLE IF NOT EXISTS @labels (
  label VARCHAR(420) NOT NULL,
  task  BIGINT NOT NULL,
  owner VARCHAR(255) NOT NULL,
  PRIMARY KEY (label, task),
  KEY labels_of_owner (owner, label, task),
  KEY labels_of_task (task)
) {options};
INSERT INTO @labels (label, task, owner)
SELECT CONCAT('[', JSON_QUOTE(label.name) COLLATE {collation}, ',', JSON_QUOTE(label.value) COLLATE {collation}, ']'),
  tasks.seq, tasks.owner
FROM @tasks AS tasks, JSON_TABLE(tasks.labels, '$[*]' COLUMNS (
  name VARCHAR(200) CHARACTER SET utf8mb4 COLLATE {collation} PATH '$[0]',
  value VARCHAR(200) CHARACTER SET utf8mb4 COLLATE {collation} PATH '$[1]'
)) AS label
WHERE tasks.labels <> '[]'
ON DUPLICATE KEY UPDATE owner = VALUES(owner);

-- Tasks state by state, in the same order; those that are over, too.
ALTER TABLE @standings
  MODIFY COLUMN trouble VARCHAR(16) AS (CASE WHEN state <> 'active' THEN state END) STORED;

-- Runs state by state: to find that nothing was cancelled, all that had failed or been skipped was looked at. The column
-- `trouble` stays for nodes of the version before that are still at work.
ALTER TABLE @runs
  ADD COLUMN ended_as VARCHAR(16) AS (CASE WHEN state <> 'succeeded' THEN state END) STORED,
  ADD INDEX runs_by_state (ended_as, planned, attempt),
  DROP INDEX runs_in_trouble;
