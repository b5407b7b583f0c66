-- Tasks that are over are found by when that was, however many there are that are not.
CREATE INDEX standings_over ON standings (ended) WHERE ended IS NOT NULL;
