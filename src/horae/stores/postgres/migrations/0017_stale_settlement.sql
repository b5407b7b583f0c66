-- Ends a statement that settles runs, with all that it has written, if one of their tasks has changed meanwhile. It needs no
-- locks before its writes then.
CREATE FUNCTION @refuse_stale_settlement() RETURNS integer LANGUAGE plpgsql AS $body$
BEGIN
  RAISE EXCEPTION 'a task has changed meanwhile' USING ERRCODE = 'HR001';
END
$body$;
