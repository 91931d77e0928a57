-- Whether a run of a pair in turns worked while the other one stepped. schema.sql says what each is.
CREATE TABLE ab_turn_checks (  -- of the same pairs: whether a run of them worked in the other's steps
  comparison_key   INTEGER NOT NULL REFERENCES ab_comparisons,
  cell_index       INTEGER NOT NULL,
  pair             INTEGER NOT NULL,
  a_cpu_s          REAL NOT NULL,  -- processor time of A's threads while B stepped
  a_wall_s         REAL NOT NULL,  -- of B's steps, as far as they were watched
  b_cpu_s          REAL NOT NULL,
  b_wall_s         REAL NOT NULL,
  order_log_effect REAL,  -- ln, of B less that of A: how much longer a step takes after one of the other side than after
                          -- one of its own; NULL: too few steps of a kind
  PRIMARY KEY (comparison_key, cell_index, pair)
) STRICT, WITHOUT ROWID;
