-- requires: stopped nodes
-- Owners take turns in a lane: a node of an older version would unpark entries by priority alone, and let others overtake.
CREATE TABLE lane_turns (
  lane  TEXT NOT NULL PRIMARY KEY,
  owner TEXT NOT NULL
) STRICT, WITHOUT ROWID;
DROP INDEX agenda_parked;
CREATE INDEX agenda_parked ON agenda (lane, owner, priority DESC, due) WHERE state = 3;
-- Nearly always empty: entries that were parked again eight times.
CREATE INDEX agenda_reparked ON agenda (lane) WHERE state = 3 AND waited >= 16;
CREATE INDEX agenda_unparked ON agenda (lane) WHERE lane IS NOT NULL AND state < 2;
