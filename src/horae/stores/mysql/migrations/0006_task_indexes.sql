-- Task lists by target kind and by lane, in creation order.
ALTER TABLE @tasks ADD INDEX tasks_by_kind (target_kind, seq), ADD INDEX tasks_by_lane (lane, seq);
