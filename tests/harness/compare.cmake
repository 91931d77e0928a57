perfbench_test(compare_test
  SOURCES compare_against_test.cpp compare_cells_test.cpp compare_device_peak_test.cpp compare_gate_test.cpp
          compare_sessions_test.cpp
  DEPENDS perfbench_judge example_run)
