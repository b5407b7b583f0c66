-- Rows with a span: a page of a period reads those that are planned after it. An ordinary run writes no row of this index.
CREATE INDEX runs_with_span ON @runs ((planned + 0), attempt, span_first, task) WHERE span_first IS NOT NULL;
-- Task lists by target kind and by lane, in creation order.
CREATE INDEX tasks_by_kind ON @tasks (target_kind, seq);
CREATE INDEX tasks_by_lane ON @tasks (lane, seq) WHERE lane IS NOT NULL;
