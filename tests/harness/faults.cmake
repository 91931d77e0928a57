# The built perfbench against an engine that misbehaves on request.
perfbench_test(faults_test
  SOURCES faults/ab_command_test.cpp faults/cancelled_planning_test.cpp faults/fault_fixture.cpp faults/killed_harness_test.cpp faults/misbehaving_engine_test.cpp
          faults/reproduce_test.cpp faults/resume_test.cpp faults/store_faults_test.cpp faults/unwritable_output_test.cpp
  DEPENDS perfbench_execute perfbench_evidence perfbench_store example_run)
target_compile_definitions(faults_test PRIVATE PERFBENCH_FAKE_ENGINE="$<TARGET_FILE:fake_engine>")
add_dependencies(faults_test perfbench fake_engine)
# They measure times, which only an optimised build has.
if(TARGET perfbench-engine-inject AND CMAKE_BUILD_TYPE STREQUAL "Release")
  target_sources(faults_test PRIVATE faults/diverging_run_test.cpp faults/failing_stage_test.cpp faults/mutation_test.cpp
                                     faults/profiled_run_test.cpp)
  target_link_libraries(faults_test PRIVATE perfbench_evidence perfbench_matrix)
  add_dependencies(faults_test perfbench-engine perfbench-engine-inject)
endif()
