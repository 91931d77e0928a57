-- The kernels that computed flash attention on a GPU. Attempts of an older perfbench do not record them.
CREATE TABLE attempt_attention (
  attempt_key INTEGER NOT NULL REFERENCES attempts,
  direction   TEXT NOT NULL CHECK (direction IN ('forward', 'backward')),
  computed_by TEXT NOT NULL CHECK (computed_by IN ('cudnn', 'own')),
  reason      TEXT NOT NULL,  -- why not cuDNN; '' where it did
  PRIMARY KEY (attempt_key, direction)
) STRICT, WITHOUT ROWID;
