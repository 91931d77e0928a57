perfbench_test(history_test SOURCES history_screening_test.cpp history_series_test.cpp
  DEPENDS perfbench_history example_run)
