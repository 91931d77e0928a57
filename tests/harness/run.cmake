perfbench_executable(fake_engine
  SOURCES fake_engine.cpp
  DEPENDS perfbench_spec)

perfbench_test(run_directory_test
  SOURCES run/run_directory_test.cpp
  DEPENDS perfbench_run_directory)
