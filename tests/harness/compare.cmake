perfbench_test(compare_test SOURCES compare_against_test.cpp compare_attribution_test.cpp compare_cells_test.cpp
          compare_decision_test.cpp compare_device_peak_test.cpp compare_gate_test.cpp compare_golden_test.cpp compare_paired_decision_test.cpp
          compare_reproduction_test.cpp compare_sessions_test.cpp
  DEPENDS perfbench_against example_run)
perfbench_test(compare_published_test SOURCES compare_published_test.cpp matrix_published_test.cpp DEPENDS perfbench_published perfbench_matrix)
