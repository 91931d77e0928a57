-- Of attempts of sweeps of a part of a matrix.
CREATE TABLE attempt_selections (
  attempt_key INTEGER PRIMARY KEY REFERENCES attempts,
  selection   TEXT NOT NULL CHECK (selection <> '')  -- the words of --only
) STRICT;
