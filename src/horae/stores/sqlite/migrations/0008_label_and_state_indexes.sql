-- Index of tasks by label, for all owners and per owner, in creation order. Triggers maintain it, because tasks are also
-- written by transactions of other programs and by running processes of an older version.
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

-- Ended tasks by state, in creation order.
CREATE INDEX standings_done ON standings (state, task) WHERE state IN ('completed', 'cancelled');

-- The state comes first: a filter by `cancelled` without a match had to read all failed and skipped runs.
DROP INDEX runs_in_trouble;
CREATE INDEX runs_in_trouble ON runs (state, planned, attempt, owner)
WHERE state IN ('failed', 'timed_out', 'lost', 'cancelled', 'skipped');
