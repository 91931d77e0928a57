-- The purpose of each sweep, which ids and names of matrices implied before. A sweep by hand could not be distinguished
-- from a night and counted as one. The table is made again, because ALTER TABLE would leave another text than that of
-- schema.sql.
CREATE TEMPORARY TABLE older_sweeps AS
SELECT sweep_key, sweep_id, matrix, started_utc,
       CASE WHEN sweep_id = '' THEN 'imported'
            WHEN sweep_id IN (SELECT comparison_id FROM ab_comparisons) THEN 'comparison'
            WHEN sweep_id GLOB 'simulated-*' THEN 'simulated'
            WHEN matrix = 'control' AND sweep_id GLOB '*-control' THEN 'control'
            ELSE 'night' END AS kind
FROM sweeps;
DROP TABLE sweeps;
CREATE TABLE sweeps (
  sweep_key   INTEGER PRIMARY KEY,
  sweep_id    TEXT NOT NULL UNIQUE,  -- '' for attempts outside a sweep
  matrix      TEXT NOT NULL,
  started_utc TEXT NOT NULL,         -- of its first attempt
  kind        TEXT NOT NULL          -- what it was made for: SweepKind (harness/evidence/attempt.h)
    CHECK (kind IN ('imported', 'night', 'hand', 'simulated', 'control', 'comparison', 'reproduction'))
) STRICT;
CREATE INDEX sweeps_by_time ON sweeps (started_utc);
INSERT INTO sweeps (sweep_key, sweep_id, matrix, started_utc, kind)
SELECT sweep_key, sweep_id, matrix, started_utc, kind FROM older_sweeps;
DROP TABLE older_sweeps;
-- The settings of an attempt. Attempts of an older perfbench do not record them.
CREATE TABLE attempt_settings (
  attempt_key INTEGER PRIMARY KEY REFERENCES attempts,
  engine_key  INTEGER NOT NULL REFERENCES names (name_key),  -- SHA-256 of the engine's file
  repeats     INTEGER NOT NULL CHECK (repeats >= 0)          -- of every cell, asked for by hand; 0: as the matrix says
) STRICT;
