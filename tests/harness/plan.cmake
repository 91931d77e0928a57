perfbench_executable(fake_dry_engine SOURCES plan/fake_dry_engine.cpp DEPENDS perfbench_spec fmt::fmt)
perfbench_test(plan_planner_test SOURCES plan/planner_test.cpp
  DEPENDS perfbench_plan perfbench_matrix perfbench_launch)
target_compile_definitions(plan_planner_test PRIVATE PERFBENCH_FAKE_DRY_ENGINE="$<TARGET_FILE:fake_dry_engine>")
add_dependencies(plan_planner_test fake_dry_engine)
