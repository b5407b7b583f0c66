-- Lists are in creation order, which an index on the owner alone has within each owner.
DROP INDEX tasks_by_owner;
CREATE INDEX tasks_by_owner ON tasks (owner);
