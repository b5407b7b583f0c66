-- Counters for the overview, and indexes for list filters. The partial indexes contain rare states only, so that an
-- ordinary run writes none of them.
CREATE TABLE tallies (
  owner  TEXT NOT NULL,
  hour   INTEGER NOT NULL,
  name   TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (hour, owner, name)
) STRICT, WITHOUT ROWID;
INSERT INTO tallies (owner, hour, name, number)
SELECT tasks.owner, 0, 'state:' || standings.state, count(*)
FROM tasks JOIN standings ON standings.task = tasks.seq GROUP BY tasks.owner, standings.state;
INSERT INTO tallies (owner, hour, name, number) SELECT '', 0, name, sum(number) FROM tallies GROUP BY name;
CREATE INDEX tasks_by_name ON tasks (name);
CREATE INDEX standings_in_trouble ON standings (state, task) WHERE state IN ('paused', 'failed');
CREATE INDEX runs_in_trouble ON runs (planned, attempt, owner) WHERE state IN ('failed', 'timed_out', 'lost');
