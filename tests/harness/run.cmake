perfbench_executable(fake_engine
  SOURCES fake_engine.cpp
  DEPENDS perfbench_spec)

perfbench_test(run_sweep_test
  SOURCES run/hostile_engine_test.cpp run/sweep_test.cpp run/progress_test.cpp
  DEPENDS perfbench_execute perfbench_system example_run)
target_compile_definitions(run_sweep_test PRIVATE PERFBENCH_FAKE_ENGINE="$<TARGET_FILE:fake_engine>")
add_dependencies(run_sweep_test fake_engine)
