-- The first schema. Instants are whole microseconds since 1970, JSON is text, names are compared byte by byte.

-- What a task is. Cold: a run never writes here, whatever the payload's size.
CREATE TABLE @tasks (
  seq         bigint PRIMARY KEY,
  id          text COLLATE "C" NOT NULL,
  owner       text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  schedule    text NOT NULL,
  target_kind text COLLATE "C" NOT NULL,
  target_spec text NOT NULL,
  payload     text NOT NULL,
  policies    text NOT NULL,
  created     bigint NOT NULL,
  key         text COLLATE "C",
  lane        text COLLATE "C",
  labels      text NOT NULL,
  version     bigint NOT NULL
);
CREATE SEQUENCE @task_numbers;
CREATE UNIQUE INDEX tasks_by_id ON @tasks (id);
CREATE INDEX tasks_by_owner ON @tasks (owner, seq);
CREATE UNIQUE INDEX tasks_by_key ON @tasks (key, owner) WHERE key IS NOT NULL;
CREATE INDEX tasks_by_name ON @tasks (name, seq);

-- Where a task stands. Hot and small: who decides on a task holds this row. `version` rises with every change of the
-- definition, the standing, or a run that is live. Pages have room to spare, so that a change stays where it is and
-- touches no index.
CREATE TABLE @standings (
  task         bigint PRIMARY KEY,
  version      bigint NOT NULL,
  state        text COLLATE "C" NOT NULL,
  counted      bigint NOT NULL,
  failures     bigint NOT NULL,
  skips_left   bigint NOT NULL,
  last_end     bigint,
  last_result  text,
  paused_since bigint,
  pause_cause  text,
  pause_note   text,
  pause_until  bigint,
  reason       text,
  ended        bigint
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX standings_over ON @standings (ended) WHERE ended IS NOT NULL;
CREATE INDEX standings_in_trouble ON @standings (task, state) WHERE state IN ('paused', 'failed');

-- The priority queue. `stand`: 0 timed, 1 ready, 2 held, 3 parked, 4 asleep. What is due leaves it, so it is swept often.
CREATE TABLE @agenda (
  task       bigint NOT NULL,
  slot       text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  due        bigint NOT NULL,
  planned    bigint NOT NULL,
  owner      text COLLATE "C" NOT NULL,
  priority   integer NOT NULL,
  stand      smallint NOT NULL,
  origin     text COLLATE "C" NOT NULL,
  attempt    integer NOT NULL,
  forgiven   integer NOT NULL,
  deaths     integer NOT NULL,
  through    bigint,
  span_first bigint,
  span_last  bigint,
  span_count bigint,
  waited     smallint NOT NULL,
  in_order   smallint NOT NULL,
  lane       text COLLATE "C",
  run_id     text COLLATE "C",
  PRIMARY KEY (task, slot)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX agenda_timed ON @agenda (due, task, slot) WHERE stand = 0;
CREATE INDEX agenda_ready ON @agenda (owner, priority DESC, due, task, slot) WHERE stand = 1;
-- Whoever asks for the first of them says so by a condition that always holds: for the queue of one owner, the planner must
-- not take this one.
CREATE INDEX agenda_ready_due ON @agenda (due) WHERE stand = 1 AND due > 0;
-- Nearly always empty: then the order of due instants is the order of priorities too.
CREATE INDEX agenda_prioritised ON @agenda (priority) WHERE priority <> 0;
CREATE INDEX agenda_parked ON @agenda (lane, priority DESC, due, task, slot) WHERE stand = 3;

-- Runs that go on. Small however long the history is; whoever ends moves on to the ledger.
CREATE TABLE @going (
  id         text COLLATE "C" PRIMARY KEY,
  task       bigint NOT NULL,
  owner      text COLLATE "C" NOT NULL,
  origin     text COLLATE "C" NOT NULL,
  planned    bigint NOT NULL,
  due        bigint NOT NULL,
  attempt    integer NOT NULL,
  state      text COLLATE "C" NOT NULL,
  reason     text COLLATE "C",
  token      bigint NOT NULL,
  node       text COLLATE "C",
  claimed    bigint,
  started    bigint,
  ended      bigint,
  deadline   bigint,
  span_first bigint,
  span_last  bigint,
  span_count bigint,
  forgiven   integer NOT NULL DEFAULT 0,
  deaths     integer NOT NULL DEFAULT 0,
  alone      smallint NOT NULL DEFAULT 0,
  in_order   smallint NOT NULL DEFAULT 0,
  cancel     text COLLATE "C",
  lanes      text,
  result     text,
  error      text
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX going_of_task ON @going (task, planned, attempt, origin);
CREATE INDEX going_asked_to_end ON @going (node) WHERE cancel IS NOT NULL;

-- The ledger: written once, at the end of a run, and never changed. A run's id begins with its planned instant and ends
-- in chance: an index over all ids would write a page of its own for every run of a burst, so it is looked for at its
-- instant; only what bears a name that does not tell its instant (`stray`) is indexed by it.
CREATE TABLE @runs (
  id         text COLLATE "C" NOT NULL,
  task       bigint NOT NULL,
  owner      text COLLATE "C" NOT NULL,
  origin     text COLLATE "C" NOT NULL,
  planned    bigint NOT NULL,
  due        bigint NOT NULL,
  attempt    integer NOT NULL,
  state      text COLLATE "C" NOT NULL,
  reason     text COLLATE "C",
  token      bigint NOT NULL,
  node       text COLLATE "C",
  claimed    bigint,
  started    bigint,
  ended      bigint,
  deadline   bigint,
  span_first bigint,
  span_last  bigint,
  span_count bigint,
  forgiven   integer NOT NULL,
  deaths     integer NOT NULL,
  alone      smallint NOT NULL,
  in_order   smallint NOT NULL,
  cancel     text COLLATE "C",
  lanes      text,
  result     text,
  error      text,
  stray      smallint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX runs_of_task ON @runs (task, planned, attempt, origin);
-- By an expression, so that the planner, who knows nothing of a table that was empty a minute ago, never takes this index
-- for a question that names the task.
CREATE INDEX runs_by_plan ON @runs ((planned + 0), attempt, owner);
CREATE UNIQUE INDEX runs_stray ON @runs (id) WHERE stray = 1;
CREATE INDEX runs_in_trouble ON @runs ((planned + 0), attempt, owner, state) WHERE state <> 'succeeded';

CREATE TABLE @seats (
  lane   text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (lane, run_id)
);

-- Whoever takes or frees a seat holds the lane's row. Where nobody set a limit, `seats` is null.
CREATE TABLE @lanes (
  name  text COLLATE "C" PRIMARY KEY,
  seats integer
);

CREATE TABLE @barred (
  owner  text COLLATE "C" PRIMARY KEY,
  reason text COLLATE "C" NOT NULL
);

CREATE TABLE @nodes (
  id           text COLLATE "C" PRIMARY KEY,
  home         text NOT NULL,
  version      text NOT NULL,
  joined       bigint NOT NULL,
  renewed      bigint NOT NULL,
  renewals     bigint NOT NULL,
  host         text NOT NULL,
  load         integer NOT NULL,
  capacity     integer NOT NULL,
  clock_offset bigint NOT NULL,
  draining     smallint NOT NULL
) WITH (fillfactor = 50);

-- Transactions get their numbers (`tx`) in order and end in any order, so an event's own number cannot be given out while
-- it is written, unless everybody waited for everybody. It is given when somebody reads: `told` has one row for each
-- transaction that told of something, and those below the oldest that has not ended are numbered through, in order.
-- `shift` is added to the server's own numbers, which begin again when a dump is loaded into another server.
CREATE TABLE @events (
  tx      bigint NOT NULL,
  place   integer NOT NULL,
  kind    text COLLATE "C" NOT NULL,
  at      bigint NOT NULL,
  owner   text COLLATE "C" NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  run_id  text COLLATE "C",
  detail  text,
  PRIMARY KEY (tx, place)
);
CREATE TABLE @told (
  tx    bigint PRIMARY KEY,
  size  integer NOT NULL,
  first bigint
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX told_in_order ON @told (first) WHERE first IS NOT NULL;
CREATE INDEX told_unnumbered ON @told (tx) WHERE first IS NULL;
CREATE TABLE @numbering (
  shift bigint NOT NULL,
  last  bigint NOT NULL
);
INSERT INTO @numbering (shift, last) VALUES (0, 0);

CREATE TABLE @lines (
  run_id text COLLATE "C" NOT NULL,
  number integer NOT NULL,
  at     bigint NOT NULL,
  level  text NOT NULL,
  text   text NOT NULL,
  PRIMARY KEY (run_id, number)
);

CREATE TABLE @records (
  kind    text COLLATE "C" NOT NULL,
  key     text COLLATE "C" NOT NULL,
  owner   text COLLATE "C" NOT NULL,
  body    text NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (kind, key)
);

-- Facts about the deployment.
CREATE TABLE @remembered (
  name  text COLLATE "C" PRIMARY KEY,
  value text NOT NULL
);

-- Running counts. Each transaction adds rows to `counted`, so that none waits for another; now and then they are summed up
-- in `tallies`. A count is the sum of both.
CREATE TABLE @tallies (
  owner  text COLLATE "C" NOT NULL,
  hour   bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (hour, owner, name)
);
CREATE TABLE @counted (
  owner  text COLLATE "C" NOT NULL,
  hour   bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  number bigint NOT NULL
);

-- Each claim has a token that is higher than all before.
CREATE SEQUENCE @tokens;
