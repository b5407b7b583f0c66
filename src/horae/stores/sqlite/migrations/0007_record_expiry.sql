-- Records can expire and are then deleted by retention; an index finds the records of one owner.
ALTER TABLE records ADD COLUMN expires INTEGER;
CREATE INDEX records_expiring ON records (expires) WHERE expires IS NOT NULL;
CREATE INDEX records_by_owner ON records (owner, kind, key);
