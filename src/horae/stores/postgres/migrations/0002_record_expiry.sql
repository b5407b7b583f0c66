-- Records that nobody needs any more after some time go by themselves; and what belongs to one owner is found without a
-- look at everybody's.
ALTER TABLE @records ADD COLUMN expires bigint;
CREATE INDEX records_expiring ON @records (expires) WHERE expires IS NOT NULL;
CREATE INDEX records_by_owner ON @records (owner, kind, key);
