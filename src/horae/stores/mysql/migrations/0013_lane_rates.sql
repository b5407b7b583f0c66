-- requires: stopped nodes
-- Rates of lanes: a node of an older version would start runs beyond the rate, and would not wake those that wait.
-- The last starts of lanes with a rate, one row for each instant; `first_number` counts the starts of the lane before it.
CREATE TABLE IF NOT EXISTS @lane_starts (
  lane         VARCHAR(255) NOT NULL,
  at           BIGINT NOT NULL,
  first_number BIGINT NOT NULL,
  size         INT NOT NULL,
  PRIMARY KEY (lane, at)
) {options};
ALTER TABLE @lanes
  ADD COLUMN rate_starts INT, ADD COLUMN rate_period BIGINT, ADD COLUMN started BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN last_start BIGINT, ADD COLUMN wake_at BIGINT, ADD INDEX lanes_waking (wake_at);
