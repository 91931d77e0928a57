perfbench_test(ab_test
  SOURCES ab/ab_run_test.cpp ab/bisection_test.cpp ab/cell_verdict_test.cpp ab/foreign_load_test.cpp ab/revisions_test.cpp
          ab/side_execution_test.cpp ab/turns_test.cpp
  DEPENDS perfbench_pairs perfbench_judge example_run)
target_compile_definitions(ab_test PRIVATE PERFBENCH_FAKE_ENGINE="$<TARGET_FILE:fake_engine>")
add_dependencies(ab_test fake_engine)
