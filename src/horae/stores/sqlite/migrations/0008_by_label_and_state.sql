-- Tasks are found by their labels, for everybody and for one owner, in the order in which they were added. Triggers keep
-- the labels in step with the tasks, whoever writes those: a transaction of somebody else, or a process of an older version
-- that is still at work.
CREATE TABLE labels (
  label TEXT NOT NULL,
  task  INTEGER NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (label, task)
) STRICT, WITHOUT ROWID;
INSERT INTO labels (label, task, owner)
SELECT DISTINCT label.value, tasks.seq, tasks.owner FROM tasks, json_each(tasks.labels) AS label;
CREATE INDEX labels_of_owner ON labels (owner, label, task);
CREATE TRIGGER tasks_labelled AFTER INSERT ON tasks WHEN new.labels <> '[]' BEGIN
  INSERT INTO labels (label, task, owner) SELECT DISTINCT value, new.seq, new.owner FROM json_each(new.labels);
END;
CREATE TRIGGER tasks_relabelled AFTER UPDATE ON tasks WHEN new.labels <> old.labels OR new.owner <> old.owner BEGIN
  DELETE FROM labels WHERE label IN (SELECT value FROM json_each(old.labels)) AND task = old.seq;
  INSERT INTO labels (label, task, owner) SELECT DISTINCT value, new.seq, new.owner FROM json_each(new.labels);
END;
CREATE TRIGGER tasks_unlabelled AFTER DELETE ON tasks WHEN old.labels <> '[]' BEGIN
  DELETE FROM labels WHERE label IN (SELECT value FROM json_each(old.labels)) AND task = old.seq;
END;

-- Tasks that are over, in the same order.
CREATE INDEX standings_done ON standings (state, task) WHERE state IN ('completed', 'cancelled');

-- State by state: to find that nothing was cancelled, all that had failed or been skipped was looked at.
DROP INDEX runs_in_trouble;
CREATE INDEX runs_in_trouble ON runs (state, planned, attempt, owner)
WHERE state IN ('failed', 'timed_out', 'lost', 'cancelled', 'skipped');
