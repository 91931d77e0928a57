perfbench_test(launch_process_test
  SOURCES launch/process_test.cpp
  DEPENDS perfbench_launch)
