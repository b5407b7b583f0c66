-- Lists are in the order in which tasks were added, so that every index leads through them in that order by itself.
DROP INDEX tasks_by_owner;
CREATE INDEX tasks_by_owner ON tasks (owner);
