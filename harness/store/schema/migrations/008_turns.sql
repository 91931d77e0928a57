-- Pairs whose runs took their steps in turns (harness/pairs/turns.h). Earlier ones followed each other.
CREATE TABLE ab_turns (  -- of pairs whose two runs took turns
  comparison_key INTEGER NOT NULL REFERENCES ab_comparisons,
  cell_index     INTEGER NOT NULL,
  pair           INTEGER NOT NULL,
  step_log_ratio REAL,  -- median over turns of ln(B / A) of the step time; NULL where a run did not end well
  PRIMARY KEY (comparison_key, cell_index, pair)
) STRICT, WITHOUT ROWID;
