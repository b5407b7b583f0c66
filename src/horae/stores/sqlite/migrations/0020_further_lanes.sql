-- The index of labels also has the further lanes of tasks, as `lane:` and the name: lists by lane find tasks by each of their
-- lanes. No label begins like that: a label is a JSON array.
DROP TRIGGER tasks_labelled;
DROP TRIGGER tasks_relabelled;
DROP TRIGGER tasks_unlabelled;
CREATE TRIGGER tasks_labelled AFTER INSERT ON tasks
WHEN new.labels <> '[]' OR (new.lane IS NOT NULL AND instr(new.policies, '"lanes":')) BEGIN
  INSERT INTO labels (label, task, owner) SELECT DISTINCT value, new.seq, new.owner FROM json_each(new.labels);
  INSERT INTO labels (label, task, owner)
  SELECT DISTINCT 'lane:' || value, new.seq, new.owner FROM json_each(new.policies, '$.lanes')
  WHERE new.lane IS NOT NULL;
END;
CREATE TRIGGER tasks_relabelled AFTER UPDATE ON tasks
WHEN new.labels <> old.labels OR new.owner <> old.owner OR new.policies <> old.policies OR new.lane IS NOT old.lane BEGIN
  DELETE FROM labels WHERE label IN (
    SELECT value FROM json_each(old.labels) UNION ALL SELECT 'lane:' || value FROM json_each(old.policies, '$.lanes')
  ) AND task = old.seq;
  INSERT INTO labels (label, task, owner) SELECT DISTINCT value, new.seq, new.owner FROM json_each(new.labels);
  INSERT INTO labels (label, task, owner)
  SELECT DISTINCT 'lane:' || value, new.seq, new.owner FROM json_each(new.policies, '$.lanes')
  WHERE new.lane IS NOT NULL;
END;
CREATE TRIGGER tasks_unlabelled AFTER DELETE ON tasks
WHEN old.labels <> '[]' OR (old.lane IS NOT NULL AND instr(old.policies, '"lanes":')) BEGIN
  DELETE FROM labels WHERE label IN (
    SELECT value FROM json_each(old.labels) UNION ALL SELECT 'lane:' || value FROM json_each(old.policies, '$.lanes')
  ) AND task = old.seq;
END;
INSERT INTO labels (label, task, owner)
SELECT DISTINCT 'lane:' || lane.value, tasks.seq, tasks.owner FROM tasks, json_each(tasks.policies, '$.lanes') AS lane
WHERE tasks.lane IS NOT NULL;
