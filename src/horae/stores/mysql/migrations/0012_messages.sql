-- Message streams: a node of an older version ignores them. Each statement is done wholly or not at all, and may be repeated.
CREATE TABLE IF NOT EXISTS @streams (
  id           BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  owner        VARCHAR(255) NOT NULL,
  name         VARCHAR(255) NOT NULL,
  created      BIGINT NOT NULL,
  first_number BIGINT NOT NULL,
  last_number  BIGINT NOT NULL,
  bytes        BIGINT NOT NULL,
  keep         BIGINT,
  keep_for     BIGINT,
  oldest       BIGINT,
  UNIQUE KEY streams_by_name (owner, name)
) {options};
CREATE TABLE IF NOT EXISTS @messages (
  stream    BIGINT NOT NULL,
  number    BIGINT NOT NULL,
  at        BIGINT NOT NULL,
  sender    VARCHAR(255) NOT NULL,
  source    VARCHAR(255) NOT NULL,
  source_id VARCHAR(255) NOT NULL,
  text      MEDIUMTEXT NOT NULL,
  refs      MEDIUMTEXT NOT NULL,
  bytes     INT NOT NULL,
  PRIMARY KEY (stream, number),
  UNIQUE KEY messages_by_source (stream, source, source_id)
) {options};
CREATE TABLE IF NOT EXISTS @cursors (
  stream BIGINT NOT NULL,
  reader VARCHAR(255) NOT NULL,
  number BIGINT NOT NULL,
  moved  BIGINT NOT NULL,
  PRIMARY KEY (stream, reader)
) {options};
CREATE TABLE IF NOT EXISTS @message_gaps (
  stream       BIGINT NOT NULL,
  first_number BIGINT NOT NULL,
  last_number  BIGINT NOT NULL,
  at           BIGINT NOT NULL,
  PRIMARY KEY (stream, first_number)
) {options};
