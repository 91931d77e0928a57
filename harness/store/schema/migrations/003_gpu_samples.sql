-- Samples of GPUs during the steps.
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
