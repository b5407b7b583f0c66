-- The index also covers cancelled and skipped runs, and contains the state: a filter by `cancelled` without a match had
-- to read the whole ledger.
DROP INDEX runs_in_trouble;
CREATE INDEX runs_in_trouble ON runs (planned, attempt, owner, state)
WHERE state IN ('failed', 'timed_out', 'lost', 'cancelled', 'skipped');
