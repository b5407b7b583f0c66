-- The first schema. Instants are whole microseconds since 1970, JSON is text, names are compared byte by byte and with
-- their last blanks. No statement is taken back here: each may be run again after a crash in the middle of the step.
-- There are no partial indexes: what most rows do not have stands in a column of its own, which is null for them.

-- What a task is. Cold: a run never writes here, whatever the payload's size.
CREATE TABLE IF NOT EXISTS @tasks (
  seq         BIGINT NOT NULL PRIMARY KEY,
  id          VARCHAR(200) NOT NULL,
  owner       VARCHAR(255) NOT NULL,
  name        VARCHAR(255) NOT NULL,
  schedule    LONGTEXT NOT NULL,
  target_kind VARCHAR(255) NOT NULL,
  target_spec LONGTEXT NOT NULL,
  payload     LONGTEXT NOT NULL,
  policies    LONGTEXT NOT NULL,
  created     BIGINT NOT NULL,
  natural_key VARCHAR(255),
  lane        VARCHAR(255),
  labels      LONGTEXT NOT NULL,
  version     BIGINT NOT NULL,
  UNIQUE KEY tasks_by_id (id),
  UNIQUE KEY tasks_by_key (owner, natural_key),
  KEY tasks_by_owner (owner, seq),
  KEY tasks_by_name (name, seq)
) {options};

-- Where a task stands. Hot and small: who decides on a task holds this row. `version` rises with every change of the
-- definition, the standing, or a run that is live. An ordinary run touches no index.
CREATE TABLE IF NOT EXISTS @standings (
  task         BIGINT NOT NULL PRIMARY KEY,
  version      BIGINT NOT NULL,
  state        VARCHAR(16) NOT NULL,
  counted      BIGINT NOT NULL,
  failures     BIGINT NOT NULL,
  skips_left   BIGINT NOT NULL,
  last_end     BIGINT,
  last_result  TEXT,
  paused_since BIGINT,
  pause_cause  VARCHAR(32),
  pause_note   TEXT,
  pause_until  BIGINT,
  reason       VARCHAR(32),
  ended        BIGINT,
  trouble      VARCHAR(16) AS (CASE WHEN state IN ('paused', 'failed') THEN state END) STORED,
  KEY standings_over (ended),
  KEY standings_in_trouble (trouble, task)
) {options};

-- The priority queue. `stand`: 0 timed, 1 ready, 2 held, 3 parked, 4 asleep. `line` is the queue that a ready entry (its
-- owner's) or a parked one (its lane's) stands in, best first; `urgency` because some servers have only rising indexes.
CREATE TABLE IF NOT EXISTS @agenda (
  task       BIGINT NOT NULL,
  slot       VARCHAR(200) NOT NULL,
  kind       VARCHAR(16) NOT NULL,
  due        BIGINT NOT NULL,
  planned    BIGINT NOT NULL,
  owner      VARCHAR(255) NOT NULL,
  priority   INT NOT NULL,
  stand      TINYINT NOT NULL,
  origin     VARCHAR(16) NOT NULL,
  attempt    INT NOT NULL,
  forgiven   INT NOT NULL,
  deaths     INT NOT NULL,
  through    BIGINT,
  span_first BIGINT,
  span_last  BIGINT,
  span_count BIGINT,
  waited     TINYINT NOT NULL,
  in_order   TINYINT NOT NULL,
  lane       VARCHAR(255),
  run_id     VARCHAR(200),
  urgency    INT AS (-priority) STORED,
  line       VARCHAR(255) AS (CASE stand WHEN 1 THEN owner WHEN 3 THEN lane END) STORED,
  PRIMARY KEY (task, slot),
  KEY agenda_timed (stand, due, task, slot),
  KEY agenda_lines (stand, line, urgency, due, task, slot)
) {options};

-- Runs that go on. Small however long the history is; whoever ends moves on to the ledger.
CREATE TABLE IF NOT EXISTS @going (
  id         VARCHAR(200) NOT NULL PRIMARY KEY,
  task       BIGINT NOT NULL,
  owner      VARCHAR(255) NOT NULL,
  origin     VARCHAR(16) NOT NULL,
  planned    BIGINT NOT NULL,
  due        BIGINT NOT NULL,
  attempt    INT NOT NULL,
  state      VARCHAR(16) NOT NULL,
  reason     VARCHAR(32),
  token      BIGINT NOT NULL,
  node       VARCHAR(200),
  claimed    BIGINT,
  started    BIGINT,
  ended      BIGINT,
  deadline   BIGINT,
  span_first BIGINT,
  span_last  BIGINT,
  span_count BIGINT,
  forgiven   INT NOT NULL DEFAULT 0,
  deaths     INT NOT NULL DEFAULT 0,
  alone      TINYINT NOT NULL DEFAULT 0,
  in_order   TINYINT NOT NULL DEFAULT 0,
  cancel     VARCHAR(32),
  lanes      TEXT,
  result     LONGTEXT,
  error      LONGTEXT,
  UNIQUE KEY going_of_task (task, planned, attempt, origin),
  KEY going_on_node (node, cancel)
) {options};

-- The ledger: written once, at the end of a run, and never changed. A run's id begins with its planned instant and ends
-- in chance: an index over all ids would write a page of its own for every run of a burst, so it is looked for at its
-- instant; only what bears a name that does not tell its instant (`stray`) is indexed by it.
CREATE TABLE IF NOT EXISTS @runs (
  id         VARCHAR(200) NOT NULL,
  task       BIGINT NOT NULL,
  owner      VARCHAR(255) NOT NULL,
  origin     VARCHAR(16) NOT NULL,
  planned    BIGINT NOT NULL,
  due        BIGINT NOT NULL,
  attempt    INT NOT NULL,
  state      VARCHAR(16) NOT NULL,
  reason     VARCHAR(32),
  token      BIGINT NOT NULL,
  node       VARCHAR(200),
  claimed    BIGINT,
  started    BIGINT,
  ended      BIGINT,
  deadline   BIGINT,
  span_first BIGINT,
  span_last  BIGINT,
  span_count BIGINT,
  forgiven   INT NOT NULL,
  deaths     INT NOT NULL,
  alone      TINYINT NOT NULL,
  in_order   TINYINT NOT NULL,
  cancel     VARCHAR(32),
  lanes      TEXT,
  result     LONGTEXT,
  error      LONGTEXT,
  stray      TINYINT NOT NULL DEFAULT 0,
  stray_id   VARCHAR(200) AS (CASE stray WHEN 1 THEN id END) STORED,
  trouble    TINYINT AS (CASE WHEN state <> 'succeeded' THEN 1 END) STORED,
  PRIMARY KEY (task, planned, attempt, origin),
  UNIQUE KEY runs_stray (stray_id),
  KEY runs_by_plan (planned, attempt),
  KEY runs_in_trouble (trouble, planned, attempt)
) {options};

CREATE TABLE IF NOT EXISTS @seats (
  lane   VARCHAR(255) NOT NULL,
  run_id VARCHAR(200) NOT NULL,
  PRIMARY KEY (lane, run_id)
) {options};

-- Whoever takes or frees a seat holds the lane's row. Where nobody set a limit, `seats` is null.
CREATE TABLE IF NOT EXISTS @lanes (
  name  VARCHAR(255) NOT NULL PRIMARY KEY,
  seats INT
) {options};

CREATE TABLE IF NOT EXISTS @barred (
  owner  VARCHAR(255) NOT NULL PRIMARY KEY,
  reason VARCHAR(32) NOT NULL
) {options};

CREATE TABLE IF NOT EXISTS @nodes (
  id           VARCHAR(200) NOT NULL PRIMARY KEY,
  home         TEXT NOT NULL,
  version      TEXT NOT NULL,
  joined       BIGINT NOT NULL,
  renewed      BIGINT NOT NULL,
  renewals     BIGINT NOT NULL,
  host         TEXT NOT NULL,
  carrying     INT NOT NULL,
  capacity     INT NOT NULL,
  clock_offset BIGINT NOT NULL,
  draining     TINYINT NOT NULL
) {options};

-- One row for each node, held by its claims, and alone by whoever takes the node for dead. It is not the row above: a
-- claim may take long, and the node must be able to renew its lease meanwhile.
CREATE TABLE IF NOT EXISTS @presence (
  node VARCHAR(200) NOT NULL PRIMARY KEY
) {options};

-- Events have the numbers that `numbering` gives out, one transaction at a time, as the last thing before its commit: so
-- numbers appear in their order, without gaps.
CREATE TABLE IF NOT EXISTS @events (
  number  BIGINT NOT NULL PRIMARY KEY,
  kind    VARCHAR(32) NOT NULL,
  at      BIGINT NOT NULL,
  owner   VARCHAR(255) NOT NULL,
  task_id VARCHAR(200) NOT NULL,
  run_id  VARCHAR(200),
  detail  LONGTEXT
) {options};
CREATE TABLE IF NOT EXISTS @numbering (
  only TINYINT NOT NULL PRIMARY KEY,
  last BIGINT NOT NULL
) {options};
INSERT INTO @numbering (only, last) VALUES (1, 0) ON DUPLICATE KEY UPDATE only = 1;

CREATE TABLE IF NOT EXISTS @lines (
  run_id VARCHAR(200) NOT NULL,
  number INT NOT NULL,
  at     BIGINT NOT NULL,
  level  VARCHAR(32) NOT NULL,
  text   LONGTEXT NOT NULL,
  PRIMARY KEY (run_id, number)
) {options};

CREATE TABLE IF NOT EXISTS @records (
  kind       VARCHAR(100) NOT NULL,
  record_key VARCHAR(400) NOT NULL,
  owner      VARCHAR(255) NOT NULL,
  body       LONGTEXT NOT NULL,
  version    BIGINT NOT NULL,
  PRIMARY KEY (kind, record_key)
) {options};

-- Facts about the deployment.
CREATE TABLE IF NOT EXISTS @remembered (
  name  VARCHAR(200) NOT NULL PRIMARY KEY,
  value LONGTEXT NOT NULL
) {options};

-- Running counts. Each transaction adds rows to `counted`, so that none waits for another; now and then they are summed up
-- in `tallies`, by whoever holds the row of `folding`. A count is the sum of both.
CREATE TABLE IF NOT EXISTS @tallies (
  owner  VARCHAR(255) NOT NULL,
  hour   BIGINT NOT NULL,
  name   VARCHAR(100) NOT NULL,
  number BIGINT NOT NULL,
  PRIMARY KEY (hour, owner, name)
) {options};
CREATE TABLE IF NOT EXISTS @counted (
  seq    BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  owner  VARCHAR(255) NOT NULL,
  hour   BIGINT NOT NULL,
  name   VARCHAR(100) NOT NULL,
  number BIGINT NOT NULL
) {options};
CREATE TABLE IF NOT EXISTS @folding (
  only TINYINT NOT NULL PRIMARY KEY
) {options};
INSERT INTO @folding (only) VALUES (1) ON DUPLICATE KEY UPDATE only = 1;

-- Numbers that only rise and that nobody waits for. All but the last of these rows are swept out now and then; the last
-- ones stay, so that a server that takes over from this one goes on after them.
CREATE TABLE IF NOT EXISTS @tokens (
  number BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY
) {options};
CREATE TABLE IF NOT EXISTS @task_numbers (
  number BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY
) {options};
