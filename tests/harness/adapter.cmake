# The adapter runs the trainer of tests/programs, for seconds altogether.
perfbench_test(adapter_test
  SOURCES adapter/adapt_command_test.cpp adapter/outcome_test.cpp adapter/output_test.cpp adapter/program_run_test.cpp
  DEPENDS perfbench_adapter_parts perfbench_execute fmt::fmt)
target_compile_definitions(adapter_test PRIVATE PERFBENCH_ADAPTER="$<TARGET_FILE:perfbench-adapter>")
add_dependencies(adapter_test perfbench perfbench-adapter)
