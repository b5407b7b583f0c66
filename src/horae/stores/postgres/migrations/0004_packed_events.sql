-- What a large claim or settlement tells is the same for each of its runs: it stands in one row, which is unpacked when
-- somebody reads. `kinds` are told of each run in turn, the first of them at `place`; of the first `gone` events nothing is
-- kept any more. Where all have the same instant, it stands there once. Lists are as they came: nothing takes them apart
-- before they are read, and nothing is gained by compressing what is mostly chance.
CREATE TABLE @bundles (
  tx       bigint NOT NULL,
  place    integer NOT NULL,
  size     integer NOT NULL,
  gone     integer NOT NULL DEFAULT 0,
  kinds    text COLLATE "C" NOT NULL,
  owner    text COLLATE "C" NOT NULL,
  at       text COLLATE "C" NOT NULL,
  task_ids text COLLATE "C" NOT NULL,
  run_ids  text COLLATE "C" NOT NULL,
  PRIMARY KEY (tx, place)
);
ALTER TABLE @bundles ALTER COLUMN at SET STORAGE EXTERNAL;
ALTER TABLE @bundles ALTER COLUMN task_ids SET STORAGE EXTERNAL;
ALTER TABLE @bundles ALTER COLUMN run_ids SET STORAGE EXTERNAL;
