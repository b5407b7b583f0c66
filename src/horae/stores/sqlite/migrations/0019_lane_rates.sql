-- requires: stopped nodes
-- Rates of lanes: a node of an older version would start runs beyond the rate, and would not wake those that wait.
ALTER TABLE lanes ADD COLUMN rate_starts INTEGER;
ALTER TABLE lanes ADD COLUMN rate_period INTEGER;
ALTER TABLE lanes ADD COLUMN started INTEGER NOT NULL DEFAULT 0;
ALTER TABLE lanes ADD COLUMN last_start INTEGER;
ALTER TABLE lanes ADD COLUMN wake_at INTEGER;
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
