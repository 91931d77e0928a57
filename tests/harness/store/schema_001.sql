-- The perfbench database, version 1: everything that run directories say, one row per sample, so that a query never
-- parses text. Filled by `perfbench ingest` (ingest.h), which can rebuild it from run directories; only the baseline
-- ledger is written by hand. Conventions:
--   *_key is a local integer key, *_id a name that means the same in every database; times of day are UTC, ISO 8601;
--   every number has its unit in its name; a missing number (a diverged loss) is NULL.
-- PRAGMA user_version holds the version of the schema; harness/store/migrations/README.md says how to change it.

-- One invocation of `perfbench sweep`.
CREATE TABLE sweeps (
  sweep_key   INTEGER PRIMARY KEY,
  sweep_id    TEXT NOT NULL UNIQUE,  -- '' for attempts outside a sweep
  matrix      TEXT NOT NULL,
  started_utc TEXT NOT NULL          -- of its first attempt
) STRICT;
CREATE INDEX sweeps_by_time ON sweeps (started_utc);

-- One resolved RunSpec (workloads/spec/run_spec.h). run_id is the SHA-256 of run_json. The columns are those of the
-- report's table; run_fields has every field of run_json.
CREATE TABLE runs (
  run_key      INTEGER PRIMARY KEY,
  run_id       TEXT NOT NULL UNIQUE CHECK (length(run_id) = 64),
  model        TEXT NOT NULL,
  device       TEXT NOT NULL,
  hardware     TEXT NOT NULL,
  precision    TEXT NOT NULL,
  attention    TEXT NOT NULL,
  remat        TEXT NOT NULL,
  scan         INTEGER NOT NULL CHECK (scan IN (0, 1)),
  seq_len      INTEGER NOT NULL,  -- tokens
  global_batch INTEGER NOT NULL,  -- sequences
  grad_accum   INTEGER NOT NULL,  -- microbatches
  steps        INTEGER NOT NULL,
  devices      INTEGER NOT NULL,
  dp           INTEGER NOT NULL,
  fsdp         INTEGER NOT NULL,
  tp           INTEGER NOT NULL,
  ep           INTEGER NOT NULL,
  pp           INTEGER NOT NULL,
  run_json     TEXT NOT NULL      -- canonical, evidence: queries use the columns and run_fields
) STRICT;
CREATE INDEX runs_by_model ON runs (model, precision, seq_len);

-- Names that would otherwise be repeated in millions of rows.
CREATE TABLE names (
  name_key INTEGER PRIMARY KEY,
  name     TEXT NOT NULL UNIQUE
) STRICT;

-- Every field of run_json: "mesh.ici.dp" = "2". A field that perfbench learnt later has a row only where it is not at
-- its default, so that runs stored before and after are told apart by their contents alone.
CREATE TABLE run_fields (
  run_key  INTEGER NOT NULL REFERENCES runs,
  name_key INTEGER NOT NULL REFERENCES names,
  value    TEXT NOT NULL,
  PRIMARY KEY (run_key, name_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_fields_by_value ON run_fields (name_key, value);

-- One combination of a matrix, and the run it resolves to.
CREATE TABLE cells (
  cell_key INTEGER PRIMARY KEY,
  matrix   TEXT NOT NULL,
  label    TEXT NOT NULL,  -- "model=llama-tiny fsdp=2"
  run_key  INTEGER NOT NULL REFERENCES runs,
  UNIQUE (matrix, label, run_key)
) STRICT;
CREATE INDEX cells_by_run ON cells (run_key);
CREATE TABLE cell_axes (
  cell_key INTEGER NOT NULL REFERENCES cells,
  axis     TEXT NOT NULL,
  value    TEXT NOT NULL,
  PRIMARY KEY (cell_key, axis)
) STRICT, WITHOUT ROWID;

-- A machine with a build (workloads/spec/environment.h), without the facts that change from hour to hour: those are
-- columns of attempts. Equal fingerprints mean equal facts; machine_fingerprint leaves out what a new build changes.
CREATE TABLE environments (
  environment_key     INTEGER PRIMARY KEY,
  fingerprint         TEXT NOT NULL UNIQUE,
  machine_fingerprint TEXT NOT NULL
) STRICT;
CREATE TABLE environment_facts (
  environment_key INTEGER NOT NULL REFERENCES environments,
  name_key        INTEGER NOT NULL REFERENCES names,
  value           TEXT NOT NULL,
  PRIMARY KEY (environment_key, name_key)
) STRICT, WITHOUT ROWID;

-- One execution (harness/evidence/attempt.h).
CREATE TABLE attempts (
  attempt_key            INTEGER PRIMARY KEY,
  run_key                INTEGER NOT NULL REFERENCES runs,
  sweep_key              INTEGER NOT NULL REFERENCES sweeps,
  cell_key               INTEGER NOT NULL REFERENCES cells,
  environment_key        INTEGER REFERENCES environments,  -- NULL: the engine never got that far
  attempt                INTEGER NOT NULL,                 -- counted from 1 within a folder of runs
  state                  TEXT NOT NULL,
  reason                 TEXT NOT NULL,
  exit_code              INTEGER NOT NULL,
  signal                 INTEGER NOT NULL,
  started_utc            TEXT NOT NULL,
  wall_ns                INTEGER NOT NULL,
  perfbench_version      TEXT NOT NULL,
  record_sha256          TEXT NOT NULL,     -- of the canonical attempt.json: tells a repeat from a contradiction
  lost_step_lines        INTEGER NOT NULL,  -- step lines that were cut off when a rank died
  load_1m                REAL,              -- load average at the start
  memory_available_bytes INTEGER,           -- at the start
  peak_flops_per_s       REAL,              -- fp32 peak of one rank's threads, measured at the start
  UNIQUE (run_key, sweep_key, attempt, started_utc)
) STRICT;
CREATE INDEX attempts_by_cell ON attempts (cell_key, started_utc);
CREATE INDEX attempts_by_run ON attempts (run_key, started_utc);
CREATE INDEX attempts_by_sweep ON attempts (sweep_key, cell_key);
CREATE INDEX attempts_by_environment ON attempts (environment_key);

-- The executed command, one argument a row.
CREATE TABLE attempt_arguments (
  attempt_key INTEGER NOT NULL REFERENCES attempts,
  position    INTEGER NOT NULL,  -- 0 is the program
  argument    TEXT NOT NULL,
  PRIMARY KEY (attempt_key, position)
) STRICT, WITHOUT ROWID;

-- Every step of every rank (spec::StepRecord). Clustered by attempt: attempts are appended and read as a whole.
CREATE TABLE steps (
  attempt_key            INTEGER NOT NULL REFERENCES attempts,
  version                INTEGER NOT NULL,
  rank                   INTEGER NOT NULL,
  step                   INTEGER NOT NULL,
  wall_ns                INTEGER NOT NULL,
  data_ns                INTEGER NOT NULL,
  forward_ns             INTEGER NOT NULL,
  backward_ns            INTEGER NOT NULL,
  exposed_comm_ns        INTEGER NOT NULL,
  optimizer_ns           INTEGER NOT NULL,
  other_ns               INTEGER NOT NULL,
  tokens                 INTEGER NOT NULL,
  loss                   REAL,
  grad_norm              REAL,
  learning_rate          REAL,
  probe_ns               INTEGER NOT NULL,
  peak_weights_bytes     INTEGER NOT NULL,
  peak_gradients_bytes   INTEGER NOT NULL,
  peak_optimizer_bytes   INTEGER NOT NULL,
  peak_activations_bytes INTEGER NOT NULL,
  peak_gathered_bytes    INTEGER NOT NULL,
  peak_workspace_bytes   INTEGER NOT NULL,
  peak_host_bytes        INTEGER NOT NULL,
  peak_total_bytes       INTEGER NOT NULL,
  PRIMARY KEY (attempt_key, rank, step)
) STRICT, WITHOUT ROWID;

-- The engine's own summary at the end (spec::RunSummary): memory of rank 0, FLOPs of one step on rank 0.
CREATE TABLE attempt_summaries (
  attempt_key                      INTEGER PRIMARY KEY REFERENCES attempts,
  status                           TEXT NOT NULL,
  message                          TEXT NOT NULL,
  steps                            INTEGER NOT NULL,
  startup_ns                       INTEGER NOT NULL,
  peak_weights_bytes               INTEGER NOT NULL,
  peak_gradients_bytes             INTEGER NOT NULL,
  peak_optimizer_bytes             INTEGER NOT NULL,
  peak_activations_bytes           INTEGER NOT NULL,
  peak_gathered_bytes              INTEGER NOT NULL,
  peak_workspace_bytes             INTEGER NOT NULL,
  peak_host_bytes                  INTEGER NOT NULL,
  peak_total_bytes                 INTEGER NOT NULL,
  arena_bytes                      INTEGER NOT NULL,
  resident_bytes                   INTEGER NOT NULL,
  emulated                         INTEGER NOT NULL CHECK (emulated IN (0, 1)),
  flops_attention_projection_flops INTEGER NOT NULL,
  flops_attention_score_flops      INTEGER NOT NULL,
  flops_feed_forward_flops         INTEGER NOT NULL,
  flops_unembedding_flops          INTEGER NOT NULL,
  flops_rematerialised_flops       INTEGER NOT NULL,
  parameters                       INTEGER NOT NULL,
  matmul_parameters                INTEGER NOT NULL
) STRICT;

-- Collectives of one step on rank 0 (spec::AxisTraffic).
CREATE TABLE attempt_traffic (
  attempt_key   INTEGER NOT NULL REFERENCES attempts,
  axis          TEXT NOT NULL,
  collective    TEXT NOT NULL,
  messages      INTEGER NOT NULL,
  payload_bytes INTEGER NOT NULL,
  sent_bytes    INTEGER NOT NULL,
  PRIMARY KEY (attempt_key, axis, collective)
) STRICT, WITHOUT ROWID;

-- Numbers about a whole attempt, all derived from the rows above by run_metrics() (harness/evidence/run_metrics.h).
CREATE TABLE metrics (
  attempt_key INTEGER NOT NULL REFERENCES attempts,
  name_key    INTEGER NOT NULL REFERENCES names,
  value       REAL NOT NULL,
  PRIMARY KEY (attempt_key, name_key)
) STRICT, WITHOUT ROWID;

-- The ledger of baselines. Rows are added, never changed: the newest row of a name that has not expired is in force.
CREATE TABLE baselines (
  baseline_key INTEGER PRIMARY KEY,
  name         TEXT NOT NULL,
  kind         TEXT NOT NULL CHECK (kind IN ('anchor', 'rolling', 'published', 'other_binary')),
  author       TEXT NOT NULL CHECK (author <> ''),
  reason       TEXT NOT NULL CHECK (reason <> ''),
  created_utc  TEXT NOT NULL,
  expires_utc  TEXT,             -- NULL: never
  source       TEXT NOT NULL     -- the selection, the file or the published row it came from
) STRICT;
CREATE INDEX baselines_by_name ON baselines (name, baseline_key);

-- A baseline made of attempts of this database ...
CREATE TABLE baseline_attempts (
  baseline_key INTEGER NOT NULL REFERENCES baselines,
  attempt_key  INTEGER NOT NULL REFERENCES attempts,
  PRIMARY KEY (baseline_key, attempt_key)
) STRICT, WITHOUT ROWID;

-- ... or of numbers from elsewhere, one per process run.
CREATE TABLE baseline_values (
  baseline_key INTEGER NOT NULL REFERENCES baselines,
  subject      TEXT NOT NULL,  -- a run id, or the label of a cell
  name_key     INTEGER NOT NULL REFERENCES names,  -- the metric
  sample       INTEGER NOT NULL,                   -- counted from 0
  value        REAL NOT NULL,
  PRIMARY KEY (baseline_key, subject, name_key, sample)
) STRICT, WITHOUT ROWID;

-- For reading by hand: one row per attempt, with names in place of keys.
CREATE VIEW attempt_overview AS
SELECT a.attempt_key, s.sweep_id, c.matrix, c.label AS cell, r.run_id, r.model, r.device, r.precision, r.seq_len,
       r.devices, r.global_batch, r.attention, r.remat, a.attempt, a.state, a.reason, a.started_utc, a.wall_ns,
       (SELECT value FROM metrics JOIN names USING (name_key)
         WHERE attempt_key = a.attempt_key AND name = 'step_time_s') AS step_time_s
  FROM attempts a JOIN runs r USING (run_key) JOIN sweeps s USING (sweep_key) JOIN cells c USING (cell_key);

-- One row per metric of an attempt.
CREATE VIEW metric_values AS
SELECT attempt_key, name AS metric, value FROM metrics JOIN names USING (name_key);
