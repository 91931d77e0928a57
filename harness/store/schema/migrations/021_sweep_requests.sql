-- The request of a sweep by hand. The row is written at the beginning of the sweep, before its first attempt, so that a
-- sweep that is killed early can be resumed. Sweeps of an older perfbench have none.
CREATE TABLE sweep_requests (
  request_key INTEGER PRIMARY KEY,
  sweep_id    TEXT NOT NULL UNIQUE CHECK (sweep_id <> ''),
  matrix      TEXT NOT NULL,
  begun_utc   TEXT NOT NULL,
  repeats     INTEGER NOT NULL CHECK (repeats >= 0)  -- --repeats; 0: as the matrix says
) STRICT;
CREATE INDEX sweep_requests_by_matrix ON sweep_requests (matrix, begun_utc);
CREATE TABLE sweep_request_words (
  request_key INTEGER NOT NULL REFERENCES sweep_requests,
  option      TEXT NOT NULL CHECK (option IN ('only', 'set')),
  position    INTEGER NOT NULL,
  words       TEXT NOT NULL,
  PRIMARY KEY (request_key, option, position)
) STRICT, WITHOUT ROWID;
