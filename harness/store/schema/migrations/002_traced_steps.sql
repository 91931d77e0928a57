-- Traced steps.
CREATE TABLE traced_steps (
  attempt_key        INTEGER NOT NULL REFERENCES attempts,
  rank               INTEGER NOT NULL,
  step               INTEGER NOT NULL,
  wall_ns            INTEGER NOT NULL,
  gemm_ns            INTEGER NOT NULL,
  attention_ns       INTEGER NOT NULL,
  norm_ns            INTEGER NOT NULL,
  elementwise_ns     INTEGER NOT NULL,
  optimizer_ns       INTEGER NOT NULL,
  other_ns           INTEGER NOT NULL,
  copy_ns            INTEGER NOT NULL,
  exposed_comm_ns    INTEGER NOT NULL,
  idle_dependency_ns INTEGER NOT NULL,
  idle_host_ns       INTEGER NOT NULL,
  collective_ns      INTEGER NOT NULL,  -- not in the sum that is wall_ns
  dropped_records    INTEGER NOT NULL,
  PRIMARY KEY (attempt_key, rank, step)
) STRICT, WITHOUT ROWID;
