perfbench_executable(fake_dry_engine SOURCES plan/fake_dry_engine.cpp DEPENDS perfbench_spec fmt::fmt)
perfbench_test(plan_test
  SOURCES plan/explanation_test.cpp plan/planner_test.cpp
  DEPENDS perfbench_plan perfbench_matrix perfbench_execute example_run)
target_compile_definitions(plan_test PRIVATE PERFBENCH_FAKE_DRY_ENGINE="$<TARGET_FILE:fake_dry_engine>")
add_dependencies(plan_test fake_dry_engine)
# With the real engine's counts.
if(TARGET perfbench-engine)
  target_sources(plan_test PRIVATE plan/matrix_statements_test.cpp)
  target_compile_definitions(plan_test PRIVATE PERFBENCH_ENGINE_FILE="$<TARGET_FILE:perfbench-engine>")
  add_dependencies(plan_test perfbench-engine)
endif()
