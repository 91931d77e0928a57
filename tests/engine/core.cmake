perfbench_test(engine_core_tests
  SOURCES core_arena_test.cpp core_float8_test.cpp core_ledger_test.cpp core_phase_clock_test.cpp core_record_files_test.cpp
  DEPENDS perfbench_core perfbench_metrics)
