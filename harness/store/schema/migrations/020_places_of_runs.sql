-- Lists of what few runs have: the sweeps of an environment, and those with an attempt that is not ok.
DROP INDEX attempts_by_environment;
CREATE INDEX attempts_by_environment ON attempts (environment_key, sweep_key);
CREATE INDEX attempts_not_ok ON attempts (sweep_key, state) WHERE state <> 'ok';
