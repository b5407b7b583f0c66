-- requires: stopped nodes
-- Owners take turns in a lane: a node of an older version would unpark entries by priority alone, and let others overtake.
CREATE TABLE IF NOT EXISTS @lane_turns (
  lane  VARCHAR(255) NOT NULL PRIMARY KEY,
  owner VARCHAR(255) NOT NULL
) {options};
ALTER TABLE @agenda
  ADD INDEX agenda_of_lane (lane, state, owner, urgency, due, task, slot),
  ADD INDEX agenda_reparked (lane, state, waited);
