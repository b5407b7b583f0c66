-- requires: stopped nodes
-- Input of a run: JSON that replaces, or is merged into, the payload of its task. NULL for nearly all rows. A node of an
-- older version would run the task without the input.
ALTER TABLE agenda ADD COLUMN input TEXT;
ALTER TABLE runs ADD COLUMN input TEXT;
