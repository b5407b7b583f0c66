-- The index of labels also has the further lanes of tasks, as `lane:` and the name: lists by lane find tasks by each of their
-- lanes. No label begins like that: a label is a JSON array.
CREATE OR REPLACE FUNCTION @keep_labels() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM @labels AS gone USING json_array_elements(OLD.labels::json) AS each
    WHERE gone.label = each.value::text AND gone.task = OLD.seq;
    DELETE FROM @labels AS gone USING json_array_elements_text(coalesce(OLD.policies::json -> 'lanes', '[]')) AS each
    WHERE gone.label = 'lane:' || each.value AND gone.task = OLD.seq;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO @labels (label, task, owner)
    SELECT DISTINCT each.value::text, NEW.seq, NEW.owner FROM json_array_elements(NEW.labels::json) AS each
    UNION ALL
    SELECT DISTINCT 'lane:' || each.value, NEW.seq, NEW.owner
    FROM json_array_elements_text(coalesce(NEW.policies::json -> 'lanes', '[]')) AS each WHERE NEW.lane IS NOT NULL;
  END IF;
  RETURN NULL;
END
$body$;
DROP TRIGGER tasks_labelled ON @tasks;
DROP TRIGGER tasks_relabelled ON @tasks;
DROP TRIGGER tasks_unlabelled ON @tasks;
CREATE TRIGGER tasks_labelled AFTER INSERT ON @tasks FOR EACH ROW
WHEN (NEW.labels <> '[]' OR NEW.lane IS NOT NULL AND strpos(NEW.policies, '"lanes":') > 0) EXECUTE FUNCTION @keep_labels();
CREATE TRIGGER tasks_relabelled AFTER UPDATE ON @tasks FOR EACH ROW
WHEN (
  NEW.labels <> OLD.labels OR NEW.owner <> OLD.owner OR NEW.policies <> OLD.policies OR NEW.lane IS DISTINCT FROM OLD.lane
) EXECUTE FUNCTION @keep_labels();
CREATE TRIGGER tasks_unlabelled AFTER DELETE ON @tasks FOR EACH ROW
WHEN (OLD.labels <> '[]' OR OLD.lane IS NOT NULL AND strpos(OLD.policies, '"lanes":') > 0) EXECUTE FUNCTION @keep_labels();
INSERT INTO @labels (label, task, owner)
SELECT DISTINCT 'lane:' || each.value, tasks.seq, tasks.owner
FROM @tasks CROSS JOIN LATERAL json_array_elements_text(coalesce(tasks.policies::json -> 'lanes', '[]')) AS each
WHERE tasks.lane IS NOT NULL AND strpos(tasks.policies, '"lanes":') > 0;
