perfbench_test(engine_train_tests
  SOURCES train_dry_walk_test.cpp
  DEPENDS perfbench_train)
