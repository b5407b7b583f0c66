-- The whole current schema; a test proves that the numbered migrations produce it.
-- Instants are whole microseconds since 1970, JSON is text.

-- Definitions of tasks. Cold: a run never writes here, whatever the payload's size.
-- `seq` is never reused, so that a task number and a version identify one state of a task.
CREATE TABLE tasks (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL,
  owner       TEXT NOT NULL,
  name        TEXT NOT NULL,
  schedule    TEXT NOT NULL,
  target_kind TEXT NOT NULL,
  target_spec TEXT NOT NULL,
  payload     TEXT NOT NULL,
  policies    TEXT NOT NULL,
  created     INTEGER NOT NULL,
  key         TEXT,
  lane        TEXT,
  labels      TEXT NOT NULL,
  version     INTEGER NOT NULL
, successors TEXT) STRICT;
CREATE UNIQUE INDEX tasks_by_id ON tasks (id);
CREATE INDEX tasks_by_owner ON tasks (owner);
CREATE UNIQUE INDEX tasks_by_key ON tasks (owner, key) WHERE key IS NOT NULL;
CREATE INDEX tasks_by_name ON tasks (name);
CREATE INDEX tasks_by_kind ON tasks (target_kind);
CREATE INDEX tasks_by_lane ON tasks (lane) WHERE lane IS NOT NULL;

-- Index of tasks by label (a JSON array), and by further lane (`lane:` and the name), for all owners and per owner, in creation
-- order. Triggers maintain it, because tasks are also written by transactions of other programs and by processes of older
-- versions.
CREATE TABLE labels (
  label TEXT NOT NULL,
  task  INTEGER NOT NULL,
  owner TEXT NOT NULL,
  PRIMARY KEY (label, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_of_owner ON labels (owner, label, task);
CREATE TRIGGER tasks_labelled AFTER INSERT ON tasks
WHEN new.labels <> '[]' OR (new.lane IS NOT NULL AND instr(new.policies, '"lanes":')) BEGIN
  INSERT INTO labels (label, task, owner) SELECT DISTINCT value, new.seq, new.owner FROM json_each(new.labels);
  INSERT INTO labels (label, task, owner)
  SELECT DISTINCT 'lane:' || value, new.seq, new.owner FROM json_each(new.policies, '$.lanes')
  WHERE new.lane IS NOT NULL;
END;
CREATE TRIGGER tasks_relabelled AFTER UPDATE ON tasks
WHEN new.labels <> old.labels OR new.owner <> old.owner OR new.policies <> old.policies OR new.lane IS NOT old.lane BEGIN
  DELETE FROM labels WHERE label IN (
    SELECT value FROM json_each(old.labels) UNION ALL SELECT 'lane:' || value FROM json_each(old.policies, '$.lanes')
  ) AND task = old.seq;
  INSERT INTO labels (label, task, owner) SELECT DISTINCT value, new.seq, new.owner FROM json_each(new.labels);
  INSERT INTO labels (label, task, owner)
  SELECT DISTINCT 'lane:' || value, new.seq, new.owner FROM json_each(new.policies, '$.lanes')
  WHERE new.lane IS NOT NULL;
END;
CREATE TRIGGER tasks_unlabelled AFTER DELETE ON tasks
WHEN old.labels <> '[]' OR (old.lane IS NOT NULL AND instr(old.policies, '"lanes":')) BEGIN
  DELETE FROM labels WHERE label IN (
    SELECT value FROM json_each(old.labels) UNION ALL SELECT 'lane:' || value FROM json_each(old.policies, '$.lanes')
  ) AND task = old.seq;
END;

-- Status of tasks. Hot and small; no index contains active tasks, except failing ones. `version` rises with every change of the definition,
-- the status or a live run, so that a cached task is validated by one number.
CREATE TABLE "task_state" (
  task         INTEGER PRIMARY KEY,
  version      INTEGER NOT NULL,
  state        TEXT NOT NULL,
  counted      INTEGER NOT NULL,
  failures     INTEGER NOT NULL,
  skips_left   INTEGER NOT NULL,
  last_end     INTEGER,
  last_result  TEXT,
  paused_since INTEGER,
  pause_cause  TEXT,
  pause_note   TEXT,
  pause_until  INTEGER,
  reason       TEXT,
  ended        INTEGER) STRICT;
CREATE INDEX task_state_ended ON task_state (ended) WHERE ended IS NOT NULL;
-- Partial indexes on rare states: an ordinary run writes none of them.
CREATE INDEX task_state_paused_or_failed ON task_state (state, task) WHERE state IN ('paused', 'failed');
-- Written by the first failure in a row, and by the success after it.
CREATE INDEX task_state_failing ON task_state (task) WHERE state = 'active' AND failures > 0;
CREATE INDEX task_state_pause_cause ON task_state (pause_cause, task) WHERE state = 'paused';
-- Written only by the last run of a task.
CREATE INDEX task_state_completed_or_cancelled ON task_state (state, task) WHERE state IN ('completed', 'cancelled');

-- The priority queue. `state`: 0 timed, 1 ready, 2 held, 3 parked, 4 asleep.
CREATE TABLE agenda (
  task       INTEGER NOT NULL,
  slot       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  due        INTEGER NOT NULL,
  planned    INTEGER NOT NULL,
  owner      TEXT NOT NULL,
  priority   INTEGER NOT NULL,
  state      INTEGER NOT NULL,
  origin     TEXT NOT NULL,
  attempt    INTEGER NOT NULL,
  forgiven   INTEGER NOT NULL,
  deaths     INTEGER NOT NULL,
  through    INTEGER,
  span_first INTEGER,
  span_last  INTEGER,
  span_count INTEGER,
  waited     INTEGER NOT NULL,
  in_order   INTEGER NOT NULL,
  lane       TEXT,
  run_id     TEXT, input TEXT,
  chain      TEXT,
  PRIMARY KEY (task, slot)
) STRICT, WITHOUT ROWID;
CREATE INDEX agenda_timed ON agenda (due) WHERE state = 0;
CREATE INDEX agenda_ready ON agenda (owner, priority DESC, due) WHERE state = 1;
CREATE INDEX agenda_ready_due ON agenda (due) WHERE state = 1;
-- Nearly always empty; then the order of due instants is also the order by priority.
CREATE INDEX agenda_prioritised ON agenda (priority) WHERE priority <> 0;
-- Queues of routes with labels: state 5, so that the claims of other nodes do not read them.
CREATE INDEX agenda_queued ON agenda (lane, due) WHERE state = 5;
CREATE INDEX agenda_parked ON agenda (lane, owner, priority DESC, due) WHERE state = 3;
-- Nearly always empty: entries that were parked again eight times.
CREATE INDEX agenda_reparked ON agenda (lane) WHERE state = 3 AND waited >= 16;
CREATE INDEX agenda_unparked ON agenda (lane) WHERE lane IS NOT NULL AND state < 2;

-- The ledger. A run id begins with the planned instant and ends in random digits: an index on all ids would write a
-- separate page for every run of a burst. So the id is indexed only for live runs (`live`) and for ids that do not
-- encode their planned instant (`stray`); every other id is found by its planned instant.
CREATE TABLE runs (
  seq        INTEGER PRIMARY KEY,
  id         TEXT NOT NULL,
  task       INTEGER NOT NULL,
  owner      TEXT NOT NULL,
  origin     TEXT NOT NULL,
  planned    INTEGER NOT NULL,
  due        INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  live       INTEGER NOT NULL DEFAULT 1,
  stray      INTEGER NOT NULL DEFAULT 0,
  state      TEXT NOT NULL,
  reason     TEXT,
  token      INTEGER NOT NULL,
  node       TEXT,
  claimed    INTEGER,
  started    INTEGER,
  ended      INTEGER,
  deadline   INTEGER,
  span_first INTEGER,
  span_last  INTEGER,
  span_count INTEGER,
  forgiven   INTEGER NOT NULL DEFAULT 0,
  deaths     INTEGER NOT NULL DEFAULT 0,
  alone      INTEGER NOT NULL DEFAULT 0,
  in_order   INTEGER NOT NULL DEFAULT 0,
  cancel     TEXT,
  lanes      TEXT,
  result     TEXT,
  error      TEXT
, input TEXT, chain TEXT) STRICT;
CREATE UNIQUE INDEX runs_of_task ON runs (task, planned, attempt, origin);
CREATE INDEX runs_by_plan ON runs (planned, attempt, owner);
CREATE UNIQUE INDEX runs_live ON runs (id) WHERE live = 1;
CREATE INDEX runs_live_of_task ON runs (task) WHERE live = 1;
CREATE UNIQUE INDEX runs_stray ON runs (id) WHERE stray = 1;
CREATE INDEX runs_cancel_requested ON runs (node) WHERE live = 1 AND cancel IS NOT NULL;
-- Runs that did not succeed: an ordinary run does not write this index.
CREATE INDEX runs_unsuccessful ON runs (state, planned, attempt, owner)
WHERE state IN ('failed', 'timed_out', 'lost', 'cancelled', 'skipped');

-- Rows with a span: a page of a period reads those that are planned after it. An ordinary run writes no row of this index.
CREATE INDEX runs_with_span ON runs (planned, attempt, span_first, task) WHERE span_first IS NOT NULL;

-- One row per task and root occurrence: which predecessors have ended, and whether the task has an occurrence for that root.
CREATE TABLE chain_rows (
  task     INTEGER NOT NULL,
  root     TEXT NOT NULL,
  state    TEXT NOT NULL,
  planned  INTEGER,
  attempt  INTEGER NOT NULL,
  awaited  TEXT NOT NULL,
  arrivals TEXT NOT NULL,
  updated  INTEGER NOT NULL,
  PRIMARY KEY (task, root)
) STRICT, WITHOUT ROWID;
CREATE INDEX chain_rows_of_root ON chain_rows (root);
CREATE UNIQUE INDEX chain_rows_planned ON chain_rows (task, planned) WHERE planned IS NOT NULL;
CREATE INDEX chain_rows_updated ON chain_rows (updated);
CREATE INDEX chain_rows_of_task ON chain_rows (task, updated);

CREATE TABLE "lane_slots" (
  lane   TEXT NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (lane, run_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE lane_turns (
  lane  TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE lanes (
  name  TEXT NOT NULL PRIMARY KEY,
  slot_limit INTEGER NOT NULL
, rate_starts INTEGER, rate_period INTEGER, started INTEGER NOT NULL DEFAULT 0, last_start INTEGER, wake_at INTEGER) STRICT, WITHOUT ROWID;
-- Nearly always empty: lanes with a rate in which entries wait for the next start.
CREATE INDEX lanes_waking ON lanes (wake_at) WHERE wake_at IS NOT NULL;
-- The last starts of lanes with a rate, one row for each instant; `first_number` counts the starts of the lane before it.
CREATE TABLE lane_starts (
  lane         TEXT NOT NULL,
  at           INTEGER NOT NULL,
  first_number INTEGER NOT NULL,
  size         INTEGER NOT NULL,
  PRIMARY KEY (lane, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE "blocked_owners" (
  owner  TEXT NOT NULL PRIMARY KEY,
  reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- `clock_offset` is in microseconds. Newer columns have defaults, so that a node of an older version can join.
CREATE TABLE nodes (
  id           TEXT NOT NULL PRIMARY KEY,
  home         TEXT NOT NULL,
  version      TEXT NOT NULL,
  joined       INTEGER NOT NULL,
  renewed      INTEGER NOT NULL,
  renewals     INTEGER NOT NULL,
  host         TEXT NOT NULL DEFAULT '',
  load         INTEGER NOT NULL DEFAULT 0,
  capacity     INTEGER NOT NULL DEFAULT 0,
  clock_offset INTEGER NOT NULL DEFAULT 0,
  draining     INTEGER NOT NULL DEFAULT 0
, labels TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;

-- Numbers are in commit order, because there is one writer at a time, and are never reused.
CREATE TABLE events (
  number  INTEGER PRIMARY KEY AUTOINCREMENT,
  kind    TEXT NOT NULL,
  at      INTEGER NOT NULL,
  owner   TEXT NOT NULL,
  task_id TEXT NOT NULL,
  run_id  TEXT,
  detail  TEXT
) STRICT;

CREATE TABLE lines (
  run_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  level  TEXT NOT NULL,
  text   TEXT NOT NULL,
  PRIMARY KEY (run_id, number)
) STRICT;

CREATE TABLE records (
  kind    TEXT NOT NULL,
  key     TEXT NOT NULL,
  owner   TEXT NOT NULL,
  body    TEXT NOT NULL,
  version INTEGER NOT NULL,
  expires INTEGER,
  PRIMARY KEY (kind, key)
) STRICT;
CREATE INDEX records_expiring ON records (expires) WHERE expires IS NOT NULL;
CREATE INDEX records_by_owner ON records (owner, kind, key);

-- Counters per owner, and under an empty owner for all owners: task states under hour 0, ended runs by hour.
CREATE TABLE "counters" (
  owner  TEXT NOT NULL,
  hour   INTEGER NOT NULL,
  name   TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (hour, owner, name)
) STRICT, WITHOUT ROWID;

-- Metadata of the deployment.
CREATE TABLE "metadata" (
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row: the token of the last claim.
CREATE TABLE tokens (
  last INTEGER NOT NULL
) STRICT;
INSERT INTO tokens (last) VALUES (0);

-- Message streams: numbered messages of an owner, cursors of readers, and numbers that were removed unread.
CREATE TABLE streams (
  id           INTEGER PRIMARY KEY,
  owner        TEXT NOT NULL,
  name         TEXT NOT NULL,
  created      INTEGER NOT NULL,
  first_number INTEGER NOT NULL,
  last_number  INTEGER NOT NULL,
  bytes        INTEGER NOT NULL,
  keep         INTEGER,
  keep_for     INTEGER,
  oldest       INTEGER
) STRICT;
CREATE UNIQUE INDEX streams_by_name ON streams (owner, name);
CREATE TABLE messages (
  stream    INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  sender    TEXT NOT NULL,
  source    TEXT NOT NULL,
  source_id TEXT NOT NULL,
  text      TEXT NOT NULL,
  refs      TEXT NOT NULL,
  bytes     INTEGER NOT NULL,
  PRIMARY KEY (stream, number)
) STRICT;
CREATE UNIQUE INDEX messages_by_source ON messages (stream, source, source_id);
CREATE TABLE cursors (
  stream INTEGER NOT NULL,
  reader TEXT NOT NULL,
  number INTEGER NOT NULL,
  moved  INTEGER NOT NULL,
  PRIMARY KEY (stream, reader)
) STRICT, WITHOUT ROWID;
CREATE TABLE message_gaps (
  stream       INTEGER NOT NULL,
  first_number INTEGER NOT NULL,
  last_number  INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  PRIMARY KEY (stream, first_number)
) STRICT, WITHOUT ROWID;
