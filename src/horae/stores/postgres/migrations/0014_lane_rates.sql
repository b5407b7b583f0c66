-- requires: stopped nodes
-- Rates of lanes: a node of an older version would start runs beyond the rate, and would not wake those that wait.
ALTER TABLE @lanes
  ADD COLUMN rate_starts integer, ADD COLUMN rate_period bigint, ADD COLUMN started bigint NOT NULL DEFAULT 0,
  ADD COLUMN last_start bigint, ADD COLUMN wake_at bigint;
-- Nearly always empty: lanes with a rate in which entries wait for the next start.
CREATE INDEX lanes_waking ON @lanes (wake_at) WHERE wake_at IS NOT NULL;
-- The last starts of lanes with a rate, one row for each instant; `first_number` counts the starts of the lane before it.
CREATE TABLE @lane_starts (
  lane         text COLLATE "C" NOT NULL,
  at           bigint NOT NULL,
  first_number bigint NOT NULL,
  size         integer NOT NULL,
  PRIMARY KEY (lane, at)
);
