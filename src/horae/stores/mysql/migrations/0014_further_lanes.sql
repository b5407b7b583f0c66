-- requires: stopped nodes
-- The index of labels also has the further lanes of tasks, as `lane:` and the name: lists by lane find tasks by each of their
-- lanes. No label begins like that: a label is a JSON array. Programs of an older version would not write them.
INSERT INTO @labels (label, task, owner)
SELECT DISTINCT CONCAT('lane:', lane.name) AS label, tasks.seq AS task, tasks.owner
FROM @tasks AS tasks, JSON_TABLE(tasks.policies, '$.lanes[*]' COLUMNS (
  name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE {collation} PATH '$'
)) AS lane
WHERE tasks.lane IS NOT NULL AND LOCATE('"lanes":', tasks.policies) > 0
ON DUPLICATE KEY UPDATE owner = VALUES(owner);
