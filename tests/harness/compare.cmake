perfbench_test(compare_test SOURCES compare_decision_test.cpp compare_cells_test.cpp
  DEPENDS perfbench_compare example_run)
