-- Records that nobody needs any more after some time go by themselves; and what belongs to one owner is found without a
-- look at everybody's. One statement, which is done wholly or not at all.
ALTER TABLE @records
  ADD COLUMN expires BIGINT NULL,
  ADD INDEX records_expiring (expires),
  ADD INDEX records_by_owner (owner, kind, record_key);
