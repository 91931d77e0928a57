perfbench_test(engine_faults_tests
  SOURCES faults_test.cpp
  DEPENDS perfbench_faults perfbench_train)
