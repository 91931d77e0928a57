perfbench_test(launch_test
  SOURCES launch/classify_test.cpp launch/launcher_test.cpp launch/process_test.cpp
  DEPENDS perfbench_execute)
