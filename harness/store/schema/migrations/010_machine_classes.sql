-- Which machines are of one class is made of their facts when they are read (harness/evidence/environment_rows.h): the column told
-- those of other host names and kernels apart. The table is made anew, so that its text is that of schema.sql.
CREATE TEMPORARY TABLE older_environments AS SELECT environment_key, fingerprint FROM environments;
DROP TABLE environments;
CREATE TABLE environments (
  environment_key INTEGER PRIMARY KEY,
  fingerprint     TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO environments (environment_key, fingerprint) SELECT environment_key, fingerprint FROM older_environments;
DROP TABLE older_environments;
