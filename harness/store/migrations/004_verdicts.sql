-- Alerts (harness/alerts/alert.h). Rows are added, never changed: the state of an alert is the to_state of its newest
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

-- Error rates of perfbench's own verdicts, as `perfbench selftest` measured them (harness/selftest/result.h).
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
