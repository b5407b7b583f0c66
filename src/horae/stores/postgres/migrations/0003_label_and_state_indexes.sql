-- Tasks are found by their labels, for everybody and for one owner, in the order in which they were added. A trigger keeps
-- the labels in step with the tasks, whoever writes those: a transaction of somebody else, or a node of an older version
-- that is still at work. It costs nothing where a task has none.
CREATE TABLE @labels (
  label text COLLATE "C" NOT NULL,
  task  bigint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  PRIMARY KEY (label, task)
);
CREATE INDEX labels_of_owner ON @labels (owner, label, task);
CREATE FUNCTION @keep_labels() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM @labels AS gone USING json_array_elements(OLD.labels::json) AS each
    WHERE gone.label = each.value::text AND gone.task = OLD.seq;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO @labels (label, task, owner)
    SELECT DISTINCT each.value::text, NEW.seq, NEW.owner FROM json_array_elements(NEW.labels::json) AS each;
  END IF;
  RETURN NULL;
END
$body$;
CREATE TRIGGER tasks_labelled AFTER INSERT ON @tasks FOR EACH ROW WHEN (NEW.labels <> '[]')
EXECUTE FUNCTION @keep_labels();
CREATE TRIGGER tasks_relabelled AFTER UPDATE ON @tasks FOR EACH ROW
WHEN (NEW.labels <> OLD.labels OR NEW.owner <> OLD.owner) EXECUTE FUNCTION @keep_labels();
CREATE TRIGGER tasks_unlabelled AFTER DELETE ON @tasks FOR EACH ROW WHEN (OLD.labels <> '[]')
EXECUTE FUNCTION @keep_labels();
INSERT INTO @labels (label, task, owner)
SELECT DISTINCT each.value::text, tasks.seq, tasks.owner
FROM @tasks CROSS JOIN LATERAL json_array_elements(tasks.labels::json) AS each WHERE tasks.labels <> '[]';

-- Tasks state by state, in the same order; those that are over, too. Only the last run of a task enters any of these.
DROP INDEX @standings_in_trouble;
CREATE INDEX standings_in_trouble ON @standings (state, task) WHERE state IN ('paused', 'failed');
CREATE INDEX standings_done ON @standings (state, task) WHERE state IN ('completed', 'cancelled');

-- Runs state by state: to find that nothing was cancelled, all that had failed or been skipped was looked at.
DROP INDEX @runs_in_trouble;
CREATE INDEX runs_in_trouble ON @runs (state, (planned + 0), attempt, owner) WHERE state <> 'succeeded';
