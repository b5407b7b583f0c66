-- Index of ended tasks by the instant of their end, for retention.
CREATE INDEX standings_over ON standings (ended) WHERE ended IS NOT NULL;
