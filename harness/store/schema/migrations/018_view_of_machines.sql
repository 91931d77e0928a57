-- The view of machines as DuckDB can read it too. schema.sql says what it is.
DROP VIEW v_machines;
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
