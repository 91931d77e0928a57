-- The perfbench database: everything that run directories say, one row per sample, so that a query never
-- parses text. Filled by `perfbench ingest` (ingest.h), which can rebuild it from run directories; only the baseline
-- ledger is written by hand. Conventions:
--   *_key is a local integer key, *_id a name that means the same in every database; times of day are UTC, ISO 8601;
--   every number has its unit in its name; a missing number (a diverged loss) is NULL.
-- PRAGMA user_version holds the version of the schema; harness/store/schema/migrations/README.md says how to change it.

-- Attempts that were made together: one invocation of a command, or one comparison.
CREATE TABLE sweeps (
  sweep_key   INTEGER PRIMARY KEY,
  sweep_id    TEXT NOT NULL UNIQUE,  -- '' for attempts outside a sweep
  matrix      TEXT NOT NULL,
  started_utc TEXT NOT NULL,         -- of its first attempt
  kind        TEXT NOT NULL          -- what it was made for: SweepKind (harness/evidence/attempt.h)
    CHECK (kind IN ('imported', 'night', 'hand', 'simulated', 'control', 'comparison', 'reproduction'))
) STRICT;
CREATE INDEX sweeps_by_time ON sweeps (started_utc);

-- Files of `perfbench push` that a server took into this database (perfbench serve --accept), with their senders.
CREATE TABLE pushes (
  push_key     INTEGER PRIMARY KEY,
  sha256       TEXT NOT NULL UNIQUE,  -- of the file
  machine      TEXT NOT NULL,         -- whose key signed it
  received_utc TEXT NOT NULL,
  bytes        INTEGER NOT NULL,
  added        INTEGER NOT NULL,      -- attempts
  present      INTEGER NOT NULL       -- attempts that the database had already
) STRICT;

-- Sweeps of a part of a matrix.
CREATE TABLE sweep_selections (
  sweep_key INTEGER PRIMARY KEY REFERENCES sweeps,
  selection TEXT NOT NULL CHECK (selection <> '')  -- the words of --only
) STRICT;

-- The progress of running sweeps, for people who look at a database meanwhile. A row is deleted at the end of its sweep.
-- The row of a killed sweep is not read after a week, and deleted by the next sweep.
CREATE TABLE running_sweeps (
  sweep_id         TEXT PRIMARY KEY,
  matrix           TEXT NOT NULL,
  begun_utc        TEXT NOT NULL,
  sign_utc         TEXT NOT NULL,     -- the start of its newest attempt
  expected_end_utc TEXT NOT NULL,     -- an estimate; '': unknown
  attempts         INTEGER NOT NULL,  -- in all; without those of before it was resumed, as the next
  finished         INTEGER NOT NULL,
  cell             TEXT NOT NULL      -- label of the running one
) STRICT, WITHOUT ROWID;

-- The request of a sweep by hand. The row is there from the beginning of the sweep, before its first attempt, so
-- that a sweep which is killed early can be resumed.
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
  option      TEXT NOT NULL CHECK (option IN ('only', 'set', 'program', 'program_repo')),
  position    INTEGER NOT NULL,
  words       TEXT NOT NULL,
  PRIMARY KEY (request_key, option, position)
) STRICT, WITHOUT ROWID;

-- One resolved RunSpec (workloads/spec/run_spec.h). run_id is the SHA-256 of run_json. The columns are those of the
-- report's table; run_fields has every field of run_json. A run of a program that is not perfbench-engine has NULL where
-- its user declared nothing (workloads/spec/run_program.h).
CREATE TABLE runs (
  run_key      INTEGER PRIMARY KEY,
  run_id       TEXT NOT NULL UNIQUE CHECK (length(run_id) = 64),
  model        TEXT,
  device       TEXT,
  hardware     TEXT,
  precision    TEXT,
  attention    TEXT,
  remat        TEXT,
  scan         INTEGER CHECK (scan IN (0, 1)),
  seq_len      INTEGER,           -- tokens
  global_batch INTEGER,           -- sequences
  grad_accum   INTEGER,           -- microbatches
  steps        INTEGER,
  devices      INTEGER,
  dp           INTEGER,
  fsdp         INTEGER,
  tp           INTEGER,
  ep           INTEGER,
  pp           INTEGER,
  run_json     TEXT NOT NULL      -- canonical, evidence: queries use the columns and run_fields
) STRICT;
CREATE INDEX runs_by_model ON runs (model, precision, seq_len);

-- Names that would otherwise be repeated in millions of rows.
CREATE TABLE names (
  name_key INTEGER PRIMARY KEY,
  name     TEXT NOT NULL UNIQUE
) STRICT;

-- Every field of run_json: "mesh.ici.dp" = "2". A field that was added to perfbench later has a row only if it is not
-- at its default, so that runs stored before and after are distinguished only by their contents.
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

-- A machine with a build (workloads/spec/environment.h), without the facts that change from hour to hour, which are
-- columns of attempts. Equal fingerprints mean equal facts. Classes of machines are computed from the facts when they
-- are read (environment_rows.h).
CREATE TABLE environments (
  environment_key INTEGER PRIMARY KEY,
  fingerprint     TEXT NOT NULL UNIQUE
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
CREATE INDEX attempts_by_environment ON attempts (environment_key, sweep_key);
CREATE INDEX attempts_not_ok ON attempts (sweep_key, state) WHERE state <> 'ok';

-- The executed command, one argument a row.
CREATE TABLE attempt_arguments (
  attempt_key INTEGER NOT NULL REFERENCES attempts,
  position    INTEGER NOT NULL,  -- 0 is the program
  argument    TEXT NOT NULL,
  PRIMARY KEY (attempt_key, position)
) STRICT, WITHOUT ROWID;

-- The settings of an attempt. Attempts of an older perfbench do not record them.
CREATE TABLE attempt_settings (
  attempt_key INTEGER PRIMARY KEY REFERENCES attempts,
  engine_key  INTEGER NOT NULL REFERENCES names (name_key),  -- SHA-256 of the engine's file
  repeats     INTEGER NOT NULL CHECK (repeats >= 0),         -- of every cell, asked for by hand; 0: as the matrix says
  -- Whether it did not wait for other measurements on its machine.
  without_lock INTEGER NOT NULL CHECK (without_lock IN (0, 1))
) STRICT;

-- The job of an attempt that a launcher executed on another machine.
CREATE TABLE attempt_jobs (
  attempt_key INTEGER PRIMARY KEY REFERENCES attempts,
  launcher    TEXT NOT NULL,
  job         TEXT NOT NULL,  -- its number or name there
  nodes       TEXT NOT NULL,
  image       TEXT NOT NULL   -- id or name of its container's image; empty: no container
) STRICT;

-- The push that added an attempt.
CREATE TABLE pushed_attempts (
  attempt_key INTEGER PRIMARY KEY REFERENCES attempts,
  push_key    INTEGER NOT NULL REFERENCES pushes
) STRICT;

-- Every step of every rank (spec::StepRecord). Clustered by attempt: attempts are appended and read as a whole. A loss
-- or gradient norm that is NaN is NULL; an infinite one is infinite. Token counts that were not recorded are NULL.
-- Traced steps (1) do not count in any timing.
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
  bubble_ns              INTEGER NOT NULL,
  balance_loss           REAL,
  expert_load            REAL,
  dropped_choices        INTEGER NOT NULL,
  loss_tokens            INTEGER,
  padding_tokens         INTEGER,
  traced                 INTEGER NOT NULL,
  checkpoint_ns          INTEGER NOT NULL,
  PRIMARY KEY (attempt_key, rank, step)
) STRICT, WITHOUT ROWID;

-- How the time of each traced step was spent (TraceSummary, harness/trace/trace_summary.h). Steps that run after the
-- timed ones (trace_steps of a run) are not rows of steps; those of a profile are.
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

-- Samples of GPUs during the steps (spec::GpuSample); -1 is a number that the driver does not give.
CREATE TABLE gpu_samples (
  attempt_key            INTEGER NOT NULL REFERENCES attempts,
  version                INTEGER NOT NULL,
  rank                   INTEGER NOT NULL,
  step                   INTEGER NOT NULL,
  at_ns                  INTEGER NOT NULL,
  sm_clock_mhz           INTEGER NOT NULL,
  memory_clock_mhz       INTEGER NOT NULL,
  power_w                REAL NOT NULL,
  temperature_celsius    INTEGER NOT NULL,
  throttled_by_heat      INTEGER NOT NULL CHECK (throttled_by_heat IN (0, 1)),
  throttled_by_hardware  INTEGER NOT NULL CHECK (throttled_by_hardware IN (0, 1)),
  throttled_by_power_cap INTEGER NOT NULL CHECK (throttled_by_power_cap IN (0, 1)),
  ecc_errors             INTEGER NOT NULL,
  processes              INTEGER NOT NULL,
  PRIMARY KEY (attempt_key, rank, at_ns)
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
  flops_embedding_flops            INTEGER NOT NULL,
  parameters                       INTEGER NOT NULL,
  matmul_parameters                INTEGER NOT NULL,
  evaluation_rows                  INTEGER NOT NULL,
  evaluation_questions             INTEGER NOT NULL,
  evaluation_tokens                INTEGER NOT NULL,
  evaluation_nll_sum               REAL,
  evaluation_perplexity            REAL,
  evaluation_accuracy              REAL,
  checkpoint_saves                 INTEGER NOT NULL,
  checkpoint_bytes                 INTEGER NOT NULL,
  checkpoint_save_ns               INTEGER NOT NULL,
  checkpoint_restore_ns            INTEGER NOT NULL,
  checkpoint_first_step            INTEGER NOT NULL
) STRICT;

-- Collectives of the last step on rank 0 (spec::AxisTraffic).
CREATE TABLE attempt_traffic (
  attempt_key   INTEGER NOT NULL REFERENCES attempts,
  axis          TEXT NOT NULL,
  collective    TEXT NOT NULL,
  messages      INTEGER NOT NULL,
  payload_bytes INTEGER NOT NULL,
  sent_bytes    INTEGER NOT NULL,
  exposed_ns    INTEGER NOT NULL,
  PRIMARY KEY (attempt_key, axis, collective)
) STRICT, WITHOUT ROWID;

-- The kernels that computed flash attention on a GPU (spec::AttentionKernel); a run on a CPU has no rows.
CREATE TABLE attempt_attention (
  attempt_key INTEGER NOT NULL REFERENCES attempts,
  direction   TEXT NOT NULL CHECK (direction IN ('forward', 'backward')),
  computed_by TEXT NOT NULL CHECK (computed_by IN ('cudnn', 'own')),
  reason      TEXT NOT NULL,  -- why not cuDNN; '' where it did
  PRIMARY KEY (attempt_key, direction)
) STRICT, WITHOUT ROWID;

-- How a training program ended that is not perfbench-engine (spec::ProgramResult), in place of attempt_summaries.
CREATE TABLE program_results (
  attempt_key                   INTEGER PRIMARY KEY REFERENCES attempts,
  version                       INTEGER NOT NULL,
  status                        TEXT NOT NULL,
  reason                        TEXT NOT NULL,
  exit_code                     INTEGER NOT NULL,
  signal                        INTEGER NOT NULL,
  steps                         INTEGER NOT NULL,
  wall_ns                       INTEGER NOT NULL,
  startup_ns                    INTEGER NOT NULL,
  resident_bytes                INTEGER NOT NULL,
  output_bytes                  INTEGER NOT NULL,
  dropped_bytes                 INTEGER NOT NULL,
  samples                       INTEGER NOT NULL,
  restarts                      INTEGER NOT NULL,
  children_left                 INTEGER NOT NULL,
  step_time_resolution_fraction REAL NOT NULL
) STRICT;
CREATE TABLE program_notes (
  attempt_key INTEGER NOT NULL REFERENCES attempts,
  position    INTEGER NOT NULL,
  note        TEXT NOT NULL,
  PRIMARY KEY (attempt_key, position)
) STRICT, WITHOUT ROWID;

-- The numbers that such a program printed (spec::Sample), in the order in which they came. NaN is NULL.
CREATE TABLE samples (
  attempt_key INTEGER NOT NULL REFERENCES attempts,
  position    INTEGER NOT NULL,
  metric      TEXT NOT NULL,
  step        INTEGER NOT NULL,
  covers      INTEGER NOT NULL,  -- steps that the value is a mean over; 0: unknown
  value       REAL,
  kind        TEXT NOT NULL,
  rank        INTEGER NOT NULL,
  resolution  REAL NOT NULL,
  at_ns       INTEGER,           -- monotonic time at which its line arrived
  PRIMARY KEY (attempt_key, position)
) STRICT, WITHOUT ROWID;

-- Numbers about a whole attempt, all derived from the rows above by run_metrics() (harness/evidence/run_metrics.h).
CREATE TABLE metrics (
  attempt_key INTEGER NOT NULL REFERENCES attempts,
  name_key    INTEGER NOT NULL REFERENCES names,
  value       REAL NOT NULL,
  PRIMARY KEY (attempt_key, name_key)
) STRICT, WITHOUT ROWID;

-- The ledger of baselines. Rows are added, never changed: the newest row (by created_utc) of a name that has not expired
-- is in force.
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
CREATE INDEX baseline_attempts_by_attempt ON baseline_attempts (attempt_key);

-- ... or of numbers from outside, one for each process run.
CREATE TABLE baseline_values (
  baseline_key INTEGER NOT NULL REFERENCES baselines,
  subject      TEXT NOT NULL,  -- a run id, or the label of a cell
  name_key     INTEGER NOT NULL REFERENCES names,  -- the metric
  sample       INTEGER NOT NULL,                   -- counted from 0
  value        REAL NOT NULL,
  PRIMARY KEY (baseline_key, subject, name_key, sample)
) STRICT, WITHOUT ROWID;

-- Alerts (harness/records/alert.h). Rows are added, never changed: the state of an alert is the to_state of its newest
-- event. Nights and series are kept by their names, so that an alert outlives the runs it is about.
CREATE TABLE alerts (
  alert_key           INTEGER PRIMARY KEY,
  alert_id            TEXT NOT NULL UNIQUE CHECK (length(alert_id) = 12),
  kind                TEXT NOT NULL
    CHECK (kind IN ('regression', 'improvement', 'vanished', 'loss', 'memory', 'startup', 'environment')),
  matrix              TEXT NOT NULL,
  cell                TEXT NOT NULL,
  run_id              TEXT NOT NULL,
  metric              TEXT NOT NULL,
  machine_fingerprint TEXT NOT NULL,
  ratio               REAL,  -- tonight / before, with its 95 % interval
  ratio_low           REAL,
  ratio_high          REAL,
  good_sweep_id       TEXT NOT NULL,
  good_started_utc    TEXT NOT NULL,
  good_revision       TEXT NOT NULL,
  bad_sweep_id        TEXT NOT NULL,
  bad_started_utc     TEXT NOT NULL,
  bad_revision        TEXT NOT NULL,
  seen_utc            TEXT NOT NULL,
  detail              TEXT NOT NULL,
  reopens             TEXT NOT NULL  -- alert_id of the fixed one that came back, or ''
) STRICT;
CREATE TABLE alert_events (
  event_key  INTEGER PRIMARY KEY,
  alert_key  INTEGER NOT NULL REFERENCES alerts,
  from_state TEXT,  -- NULL: opened
  to_state   TEXT NOT NULL
    CHECK (to_state IN ('open', 'acknowledged', 'fixed', 'wont_fix', 'environment', 'invalid')),
  author     TEXT NOT NULL CHECK (author <> ''),
  reason     TEXT NOT NULL,
  at_utc     TEXT NOT NULL
) STRICT;
CREATE INDEX alert_events_by_alert ON alert_events (alert_key, event_key);
CREATE TABLE alert_environment (
  alert_key INTEGER NOT NULL REFERENCES alerts,
  fact      TEXT NOT NULL,
  before    TEXT NOT NULL,
  after     TEXT NOT NULL,
  PRIMARY KEY (alert_key, fact)
) STRICT, WITHOUT ROWID;
CREATE TABLE alert_attribution (
  alert_key INTEGER NOT NULL REFERENCES alerts,
  position  INTEGER NOT NULL,  -- counted from 0, the largest first
  name      TEXT NOT NULL,
  ns        REAL NOT NULL,
  share     REAL NOT NULL,     -- of the whole difference
  PRIMARY KEY (alert_key, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE alert_confirmations (
  alert_key     INTEGER NOT NULL REFERENCES alerts,
  position      INTEGER NOT NULL,
  comparison_id TEXT NOT NULL,
  PRIMARY KEY (alert_key, position)
) STRICT, WITHOUT ROWID;

-- Messages about alerts that wait for their webhook, or waited. The address and its token are in the environment only.
CREATE TABLE alert_outbox (
  message_key    INTEGER PRIMARY KEY,
  message_id     TEXT NOT NULL UNIQUE,
  created_utc    TEXT NOT NULL,
  body           TEXT NOT NULL,      -- JSON, as it is sent
  state          TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'given_up')),
  tries          INTEGER NOT NULL,
  last_error     TEXT NOT NULL,
  held_until_utc TEXT NOT NULL,      -- a process is sending it until then at most; '': none
  ended_utc      TEXT                -- when it was delivered or given up
) STRICT;
CREATE INDEX alert_outbox_by_state ON alert_outbox (state, message_key);

-- Error rates of perfbench's own verdicts, as `perfbench selftest` measured them (harness/records/selftest_result.h).
CREATE TABLE selftest_results (
  result_key INTEGER PRIMARY KEY,
  date_utc   TEXT NOT NULL,
  version    TEXT NOT NULL,  -- of perfbench
  seed       TEXT NOT NULL,  -- 64 bits without sign
  kind       TEXT NOT NULL CHECK (kind IN ('aa', 'equivalence', 'power', 'false_alarms', 'delay')),
  noise      TEXT NOT NULL,
  measure    TEXT NOT NULL,
  value      REAL NOT NULL,
  low        REAL NOT NULL,  -- 95 % interval
  high       REAL NOT NULL,
  goal_rule  TEXT CHECK (goal_rule IN ('value_at_least', 'value_at_most', 'high_at_most')),
  goal       REAL,
  met        INTEGER         -- NULL: no goal
) STRICT;

-- A/B comparisons: two sides in pairs of new processes (harness/store/ledgers/comparison_ledger.h). Attempts of both
-- sides are rows of attempts, in the sweep with the comparison's id.
CREATE TABLE ab_comparisons (
  comparison_key INTEGER PRIMARY KEY,
  comparison_id  TEXT NOT NULL UNIQUE,
  purpose        TEXT NOT NULL CHECK (purpose IN ('compare', 'bisect', 'confirm', 'anchor', 'selftest')),
  matrix         TEXT NOT NULL,
  settings       TEXT NOT NULL,  -- what has to be equal for --resume to go on with it
  seed           INTEGER NOT NULL,
  started_utc    TEXT NOT NULL,
  finished_utc   TEXT            -- NULL: cut off
) STRICT;
CREATE TABLE ab_sides (
  comparison_key INTEGER NOT NULL REFERENCES ab_comparisons,
  side           TEXT NOT NULL CHECK (side IN ('A', 'B')),
  asked          TEXT NOT NULL,  -- as it was named
  kind           TEXT NOT NULL CHECK (kind IN ('current', 'settings', 'binary', 'revision', 'fault',
                                                        'command', 'environment')),
  git_commit     TEXT NOT NULL,  -- of a revision, else ''
  engine         TEXT NOT NULL,  -- path
  engine_sha256  TEXT NOT NULL,
  PRIMARY KEY (comparison_key, side)
) STRICT, WITHOUT ROWID;
CREATE TABLE ab_pairs (
  comparison_key     INTEGER NOT NULL REFERENCES ab_comparisons,
  cell               TEXT NOT NULL,     -- label in the matrix
  cell_index         INTEGER NOT NULL,  -- counted from 0 in the comparison
  pair               INTEGER NOT NULL,  -- counted from 1 in the cell, discarded ones too
  first_side         TEXT NOT NULL CHECK (first_side IN ('A', 'B')),
  discard            TEXT NOT NULL      -- why it does not count; none: it does
    CHECK (discard IN ('none', 'failed', 'quarantined', 'steal', 'foreign_load', 'probe_moved', 'other_speed')),
  discarded          TEXT NOT NULL,     -- the same as a sentence
  a_attempt_key      INTEGER NOT NULL REFERENCES attempts,
  b_attempt_key      INTEGER NOT NULL REFERENCES attempts,
  a_instructions     INTEGER,           -- user mode, all processes of the run; NULL without a hardware counter
  b_instructions     INTEGER,
  a_steal_fraction   REAL NOT NULL,     -- of the cores' time while it ran
  b_steal_fraction   REAL NOT NULL,
  a_foreign_fraction REAL NOT NULL,
  b_foreign_fraction REAL NOT NULL,
  PRIMARY KEY (comparison_key, cell_index, pair)
) STRICT, WITHOUT ROWID;
CREATE INDEX ab_pairs_by_a ON ab_pairs (a_attempt_key);
CREATE INDEX ab_pairs_by_b ON ab_pairs (b_attempt_key);
CREATE TABLE ab_turns (  -- of pairs whose two runs took turns
  comparison_key INTEGER NOT NULL REFERENCES ab_comparisons,
  cell_index     INTEGER NOT NULL,
  pair           INTEGER NOT NULL,
  step_log_ratio REAL,  -- median over turns of ln(B / A) of the step time; NULL where a run did not end well
  PRIMARY KEY (comparison_key, cell_index, pair)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE ab_verdicts (
  comparison_key      INTEGER NOT NULL REFERENCES ab_comparisons,
  cell                TEXT NOT NULL,
  cell_index          INTEGER NOT NULL,
  metric              TEXT NOT NULL,  -- '' for a verdict on the cell as a whole
  verdict             TEXT NOT NULL,
  reason              TEXT NOT NULL,
  detail              TEXT NOT NULL,
  margin_fraction     REAL,
  a_median            REAL,
  b_median            REAL,
  ratio               REAL,     -- B / A, with its 95 % interval
  ratio_low           REAL,
  ratio_high          REAL,
  p                   REAL,
  detectable_fraction REAL,
  pairs_used          INTEGER NOT NULL,
  pairs_discarded     INTEGER NOT NULL,
  pairs_needed        INTEGER,  -- to find the margin, where these do not
  PRIMARY KEY (comparison_key, cell_index, metric)
) STRICT, WITHOUT ROWID;

-- The ledger of decisions (judgement_ledger.h): the basis of verdicts, as sentences written down at that time.
CREATE TABLE judgements (
  judgement_key INTEGER PRIMARY KEY,
  judgement_id  TEXT NOT NULL UNIQUE,  -- of a comparison in pairs its id, of a night its sweep
  kind          TEXT NOT NULL CHECK (kind IN ('pairs', 'baseline', 'night')),
  matrix        TEXT NOT NULL,
  made_utc      TEXT NOT NULL
) STRICT;
CREATE TABLE judgement_lines (
  judgement_key INTEGER NOT NULL REFERENCES judgements,
  position      INTEGER NOT NULL,  -- counted from 0
  cell          TEXT NOT NULL,     -- label; '' for all
  metric        TEXT NOT NULL,     -- '' for the cell as a whole
  part          TEXT NOT NULL      -- what the sentence is about: LedgerPart
    CHECK (part IN ('rule', 'reference', 'nights', 'look', 'answer', 'note', 'alert')),
  text          TEXT NOT NULL,     -- of an alert its id
  PRIMARY KEY (judgement_key, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX judgement_lines_of_alerts ON judgement_lines (text) WHERE part = 'alert';

-- Searches for the first bad commit (perfbench bisect) and the comparison of each step.
CREATE TABLE bisections (
  bisection_key INTEGER PRIMARY KEY,
  matrix        TEXT NOT NULL,
  metric        TEXT NOT NULL,
  good_commit   TEXT NOT NULL,
  bad_commit    TEXT NOT NULL,
  started_utc   TEXT NOT NULL,
  finished_utc  TEXT  -- NULL: cut off
) STRICT;
CREATE TABLE bisection_steps (
  bisection_key INTEGER NOT NULL REFERENCES bisections,
  step          INTEGER NOT NULL,  -- counted from 0
  git_commit    TEXT NOT NULL,
  outcome       TEXT NOT NULL CHECK (outcome IN ('good', 'bad', 'skipped')),
  detail        TEXT NOT NULL,
  comparison_id TEXT NOT NULL,     -- '' where none ran: the commit could not be built
  PRIMARY KEY (bisection_key, step)
) STRICT, WITHOUT ROWID;
-- The result: one row is the first bad commit, several rows are commits that cannot be distinguished.
CREATE TABLE bisection_candidates (
  bisection_key INTEGER NOT NULL REFERENCES bisections,
  position      INTEGER NOT NULL,  -- oldest first
  git_commit    TEXT NOT NULL,
  PRIMARY KEY (bisection_key, position)
) STRICT, WITHOUT ROWID;

-- Names from users (perfbench tag), each for one run or for one attempt of it.
CREATE TABLE tags (
  tag_key     INTEGER PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE CHECK (name <> ''),
  run_key     INTEGER NOT NULL REFERENCES runs,
  attempt_key INTEGER REFERENCES attempts,  -- of that run; NULL: the run as a whole
  author      TEXT NOT NULL CHECK (author <> ''),
  created_utc TEXT NOT NULL
) STRICT;
CREATE INDEX tags_by_run ON tags (run_key);
CREATE INDEX tags_by_attempt ON tags (attempt_key);

-- Notes of users about a run or one attempt of it (perfbench note). Rows are added, never changed.
CREATE TABLE notes (
  note_key    INTEGER PRIMARY KEY,
  run_key     INTEGER NOT NULL REFERENCES runs,
  attempt_key INTEGER REFERENCES attempts,  -- of that run; NULL: the run as a whole
  author      TEXT NOT NULL CHECK (author <> ''),
  text        TEXT NOT NULL CHECK (text <> ''),
  created_utc TEXT NOT NULL
) STRICT;
CREATE INDEX notes_by_run ON notes (run_key);
CREATE INDEX notes_by_attempt ON notes (attempt_key);

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

-- Views for other programs (pandas, DuckDB): their names and columns stay, others may be added. Every number in a view
-- is in the tables, too; a column with the name of a table's column has the same meaning.

-- The class of each machine as text: machines of one class have equal text (harness/evidence/environment_rows.h defines
-- it, and that a memory counts as the smallest 2^n or 3 * 2^n bytes not below it). DuckDB evaluates a view by its text:
-- there an INTEGER has 32 bits, and a text that is not a number ends the query, in whatever row it is.
CREATE VIEW v_machines AS
WITH RECURSIVE
powers (size) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT size * 2 FROM powers WHERE size < 2305843009213693952),
sizes (size) AS (SELECT size FROM powers UNION ALL SELECT size + size / 2 FROM powers WHERE size > 1),
facts (environment_key, name, value) AS (
  SELECT environment_key, name,
         CASE WHEN name IN ('memory_bytes', 'gpu_memory_bytes')
              THEN CAST(coalesce((SELECT min(size) FROM sizes WHERE size >= bytes AND bytes > 0), 0) AS TEXT)
              ELSE value END
    FROM (SELECT environment_key, name AS name, value,
                 CAST(CASE WHEN name IN ('memory_bytes', 'gpu_memory_bytes') AND value GLOB '[0-9]*' THEN value END
                      AS BIGINT) AS bytes
            FROM environment_facts JOIN names USING (name_key)))
SELECT environment_key,
       rtrim(
         coalesce('cpu_model=' || max(CASE WHEN name = 'cpu_model' THEN value END) || '; ', '') ||
         coalesce('cpu_features=' || max(CASE WHEN name = 'cpu_features' THEN value END) || '; ', '') ||
         coalesce('cores_allowed=' || max(CASE WHEN name = 'cores_allowed' THEN value END) || '; ', '') ||
         coalesce('governor=' || max(CASE WHEN name = 'governor' THEN value END) || '; ', '') ||
         coalesce('memory_bytes=' || max(CASE WHEN name = 'memory_bytes' THEN value END) || '; ', '') ||
         coalesce('gpu_model=' || max(CASE WHEN name = 'gpu_model' THEN value END) || '; ', '') ||
         coalesce('gpu_memory_bytes=' || max(CASE WHEN name = 'gpu_memory_bytes' THEN value END) || '; ', '') ||
         coalesce('gpu_driver=' || max(CASE WHEN name = 'gpu_driver' THEN value END) || '; ', ''),
         '; ') AS machine_class
  FROM facts GROUP BY environment_key;

-- One row for each attempt: what ran, when, its commit and machine, how it ended, and its main metrics. The subject
-- consists of the engine by its SHA-256 (NULL: an older perfbench did not record it), the faults injected into it
-- (NULL: none), and its side of a comparison (?: not recorded; NULL: not in a comparison). Numbers of different
-- subjects must not be pooled.
CREATE VIEW v_runs AS
SELECT a.attempt_key, r.run_id, a.attempt, a.started_utc, c.matrix, c.label AS cell,
       (SELECT group_concat(axis || '=' || value, ' ')
          FROM (SELECT axis, value FROM cell_axes WHERE cell_key = a.cell_key ORDER BY axis)) AS axes,
       a.state, a.reason, s.sweep_id, s.kind,
       (SELECT value FROM environment_facts WHERE environment_key = a.environment_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'git_commit')) AS git_commit,
       v_machines.machine_class,
       (SELECT name FROM attempt_settings t JOIN names ON name_key = t.engine_key
         WHERE t.attempt_key = a.attempt_key) AS engine_sha256,
       (SELECT group_concat(argument, ' ')
          FROM (SELECT v.argument FROM attempt_arguments i JOIN attempt_arguments v
                    ON v.attempt_key = i.attempt_key AND v.position = i.position + 1
                 WHERE i.attempt_key = a.attempt_key AND i.argument = '--inject' ORDER BY v.position)) AS inject,
       CASE WHEN s.kind = 'comparison' THEN coalesce(
         (SELECT 'A' FROM ab_pairs WHERE a_attempt_key = a.attempt_key LIMIT 1),
         (SELECT 'B' FROM ab_pairs WHERE b_attempt_key = a.attempt_key LIMIT 1),
         (SELECT CASE WHEN count(*) = 1 THEN max(side) END FROM ab_comparisons JOIN ab_sides USING (comparison_key)
           WHERE comparison_id = s.sweep_id
             AND engine IN (SELECT argument FROM attempt_arguments WHERE attempt_key = a.attempt_key)),
         '?') END AS side,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'step_time_s')) AS step_time_s,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'tokens_per_s')) AS tokens_per_s,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'tokens_per_s_per_device')) AS tokens_per_s_per_device,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'peak_memory_bytes')) AS peak_memory_bytes,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'resident_bytes')) AS resident_bytes,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'startup_time_s')) AS startup_time_s,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'final_loss')) AS final_loss,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'eval_accuracy')) AS eval_accuracy,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'eval_perplexity')) AS eval_perplexity,
       (SELECT value FROM metrics WHERE attempt_key = a.attempt_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'probe_spread_fraction')) AS probe_spread_fraction
  FROM attempts a JOIN runs r ON r.run_key = a.run_key JOIN sweeps s ON s.sweep_key = a.sweep_key
  JOIN cells c ON c.cell_key = a.cell_key LEFT JOIN v_machines ON v_machines.environment_key = a.environment_key;

-- One row for each step of a rank; times in seconds. Traced steps (1) do not count in any timing.
CREATE VIEW v_steps AS
SELECT t.attempt_key, r.run_id, a.attempt, t.rank, t.step, t.traced, t.wall_ns / 1e9 AS wall_s,
       t.data_ns / 1e9 AS data_s, t.forward_ns / 1e9 AS forward_s, t.backward_ns / 1e9 AS backward_s,
       t.exposed_comm_ns / 1e9 AS exposed_comm_s, t.bubble_ns / 1e9 AS bubble_s, t.optimizer_ns / 1e9 AS optimizer_s,
       t.other_ns / 1e9 AS other_s, t.tokens, t.loss, t.grad_norm, t.checkpoint_ns / 1e9 AS checkpoint_s
  FROM steps t JOIN attempts a ON a.attempt_key = t.attempt_key JOIN runs r ON r.run_key = a.run_key;

-- One row per metric of an attempt; units as in workloads/spec/metric_catalog.h.
CREATE VIEW v_metrics AS
SELECT m.attempt_key, r.run_id, a.attempt, n.name AS metric, m.value,
       CASE WHEN n.name GLOB '*per_s' OR n.name GLOB '*per_s_per_device' THEN '1/s' WHEN n.name GLOB '*_s' THEN 's'
            WHEN n.name GLOB '*_bytes' THEN 'bytes' WHEN n.name GLOB '*_days' THEN 'days'
            WHEN n.name GLOB '*_fraction' THEN 'fraction' WHEN n.name GLOB '*_steps' THEN 'count'
            WHEN n.name IN ('loss', 'final_loss', 'printed_loss') THEN 'nats'
            WHEN n.name = 'energy_per_token_j' THEN 'J' ELSE '1' END AS unit
  FROM metrics m JOIN attempts a ON a.attempt_key = m.attempt_key JOIN runs r ON r.run_key = a.run_key
  JOIN names n ON n.name_key = m.name_key;
