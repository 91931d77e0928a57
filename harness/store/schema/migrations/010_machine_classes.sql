-- Classes of machines are now computed from their facts when they are read (harness/evidence/environment_rows.h); the
-- column also distinguished machines with other host names and kernels. The table is made again, so that its text
-- equals that of schema.sql.
CREATE TEMPORARY TABLE older_environments AS SELECT environment_key, fingerprint FROM environments;
DROP TABLE environments;
CREATE TABLE environments (
  environment_key INTEGER PRIMARY KEY,
  fingerprint     TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO environments (environment_key, fingerprint) SELECT environment_key, fingerprint FROM older_environments;
DROP TABLE older_environments;
