-- The view of runs says of each what was run: engine, injected faults and side of a comparison.
DROP VIEW v_runs;
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
