perfbench_test(launch_process_test
  SOURCES launch/process_test.cpp
  DEPENDS perfbench_launch)
perfbench_test(launch_classify_test
  SOURCES launch/classify_test.cpp
  DEPENDS perfbench_launch)
perfbench_test(launch_launcher_test
  SOURCES launch/launcher_test.cpp
  DEPENDS perfbench_launch)
