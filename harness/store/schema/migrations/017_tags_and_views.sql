-- Tags and notes, and views for other programs; schema.sql describes them. Tags are names from users (perfbench tag),
-- each for one run or for one attempt of it.
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

-- For finding out what keeps an attempt (perfbench prune).
CREATE INDEX baseline_attempts_by_attempt ON baseline_attempts (attempt_key);
CREATE INDEX ab_pairs_by_a ON ab_pairs (a_attempt_key);
CREATE INDEX ab_pairs_by_b ON ab_pairs (b_attempt_key);

-- Views for other programs (pandas, DuckDB): their names and columns stay, others may be added. In no view is a number
-- that the tables lack; a column that a table has too means the same.

-- The class of each machine, as text: machines of one class have equal text (harness/evidence/environment_rows.h says what is
-- in it, and that a memory counts as the smallest 2^n or 3 * 2^n bytes not below it).
CREATE VIEW v_machines AS
WITH RECURSIVE
powers (size) AS (SELECT 1 UNION ALL SELECT size * 2 FROM powers WHERE size < 2305843009213693952),
sizes (size) AS (SELECT size FROM powers UNION ALL SELECT size + size / 2 FROM powers WHERE size > 1),
facts (environment_key, name, value) AS (
  SELECT environment_key, name,
         CASE WHEN name IN ('memory_bytes', 'gpu_memory_bytes')
              THEN CAST(coalesce((SELECT min(size) FROM sizes
                                   WHERE size >= CAST(value AS INTEGER) AND CAST(value AS INTEGER) > 0), 0) AS TEXT)
              ELSE value END
    FROM environment_facts JOIN names USING (name_key))
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

-- One row per attempt: what ran, when, of which commit and where, how it ended, and its main metrics.
CREATE VIEW v_runs AS
SELECT a.attempt_key, r.run_id, a.attempt, a.started_utc, c.matrix, c.label AS cell,
       (SELECT group_concat(axis || '=' || value, ' ')
          FROM (SELECT axis, value FROM cell_axes WHERE cell_key = a.cell_key ORDER BY axis)) AS axes,
       a.state, a.reason, s.sweep_id, s.kind,
       (SELECT value FROM environment_facts WHERE environment_key = a.environment_key
           AND name_key = (SELECT name_key FROM names WHERE name = 'git_commit')) AS git_commit,
       v_machines.machine_class,
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
       t.other_ns / 1e9 AS other_s, t.tokens, t.loss, t.grad_norm
  FROM steps t JOIN attempts a ON a.attempt_key = t.attempt_key JOIN runs r ON r.run_key = a.run_key;

-- One row per metric of an attempt; units as in workloads/spec/metric_catalog.h.
CREATE VIEW v_metrics AS
SELECT m.attempt_key, r.run_id, a.attempt, n.name AS metric, m.value,
       CASE WHEN n.name GLOB '*per_s' OR n.name GLOB '*per_s_per_device' THEN '1/s' WHEN n.name GLOB '*_s' THEN 's'
            WHEN n.name GLOB '*_bytes' THEN 'bytes' WHEN n.name GLOB '*_days' THEN 'days'
            WHEN n.name GLOB '*_fraction' THEN 'fraction' WHEN n.name GLOB '*_steps' THEN 'count'
            WHEN n.name IN ('loss', 'final_loss') THEN 'nats' ELSE '1' END AS unit
  FROM metrics m JOIN attempts a ON a.attempt_key = m.attempt_key JOIN runs r ON r.run_key = a.run_key
  JOIN names n ON n.name_key = m.name_key;
