perfbench_test(cli_store_commands_test
  SOURCES cli_alerts_command_test.cpp cli_command_line_test.cpp cli_completion_test.cpp cli_history_command_test.cpp cli_nightly_command_test.cpp cli_older_database_test.cpp cli_options_test.cpp cli_run_names_test.cpp cli_store_commands_test.cpp cli_trace_command_test.cpp
  DEPENDS perfbench_alerts http_server perfbench_launch perfbench_sqlite perfbench_transfer made_up_trace)
add_dependencies(cli_store_commands_test perfbench)
target_compile_definitions(cli_store_commands_test PRIVATE PERFBENCH_FAKE_ENGINE="$<TARGET_FILE:fake_engine>")
add_dependencies(cli_store_commands_test fake_engine)
if(TARGET perfbench-engine)
  add_dependencies(cli_store_commands_test perfbench-engine)
  perfbench_test(cli_instruction_test SOURCES cli_evaluation_test.cpp cli_instruction_test.cpp DEPENDS perfbench_launch example_run)
  add_dependencies(cli_instruction_test perfbench perfbench-engine)
endif()
if(TARGET perfbench-engine-emulated)
  perfbench_test(cli_emulated_gpus_test SOURCES cli_emulated_gpus_test.cpp DEPENDS perfbench_launch example_run)
  target_compile_definitions(cli_emulated_gpus_test PRIVATE
    PERFBENCH_EMULATED_ENGINE_FILE="$<TARGET_FILE:perfbench-engine-emulated>")
  add_dependencies(cli_emulated_gpus_test perfbench perfbench-engine-emulated)
endif()
