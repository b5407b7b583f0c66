-- Runs that were cancelled or skipped are found by the index too, and by state without a look at the run itself: to find
-- that nothing was cancelled, the whole ledger had to be read.
DROP INDEX runs_in_trouble;
CREATE INDEX runs_in_trouble ON runs (planned, attempt, owner, state)
WHERE state IN ('failed', 'timed_out', 'lost', 'cancelled', 'skipped');
