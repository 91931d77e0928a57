-- Sweeps of a part of a matrix.
CREATE TABLE sweep_selections (
  sweep_key INTEGER PRIMARY KEY REFERENCES sweeps,
  selection TEXT NOT NULL CHECK (selection <> '')  -- the words of --only
) STRICT;
