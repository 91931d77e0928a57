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

-- A/B comparisons: two sides in pairs of fresh processes (harness/store/ledgers/comparison_ledger.h). Attempts of both sides are
-- rows of attempts, of the sweep whose id is the comparison's.
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
  kind           TEXT NOT NULL CHECK (kind IN ('current', 'settings', 'binary', 'revision', 'fault')),
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
