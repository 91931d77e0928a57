perfbench_test(cli_test
  SOURCES cli_alerts_command_test.cpp cli_command_line_test.cpp cli_completion_test.cpp cli_history_command_test.cpp
          cli_nightly_command_test.cpp cli_older_database_test.cpp cli_options_test.cpp cli_run_names_test.cpp
          cli_store_commands_test.cpp cli_trace_command_test.cpp
  DEPENDS perfbench_store http_server perfbench_execute perfbench_store perfbench_store example_run made_up_trace)
target_compile_definitions(cli_test PRIVATE PERFBENCH_FAKE_ENGINE="$<TARGET_FILE:fake_engine>")
add_dependencies(cli_test perfbench fake_engine)
perfbench_test(subjects_test
  SOURCES cli_subjects_test.cpp subject_store.cpp
  DEPENDS perfbench_serve perfbench_store example_run)
add_dependencies(subjects_test perfbench)
if(TARGET perfbench-engine)
  target_sources(cli_test PRIVATE cli_evaluation_test.cpp cli_instruction_test.cpp)
  add_dependencies(cli_test perfbench-engine)
endif()
if(TARGET perfbench-engine-emulated)
  target_sources(cli_test PRIVATE cli_emulated_gpus_test.cpp)
  target_compile_definitions(cli_test PRIVATE PERFBENCH_EMULATED_ENGINE_FILE="$<TARGET_FILE:perfbench-engine-emulated>")
  add_dependencies(cli_test perfbench-engine-emulated)
endif()
