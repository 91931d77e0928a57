perfbench_test(engine_train_tests
  SOURCES train_dry_walk_test.cpp
  DEPENDS perfbench_train)
perfbench_test(engine_training_tests
  SOURCES train_equality_test.cpp train_golden_test.cpp
  DEPENDS perfbench_train perfbench_ops_cpu)
