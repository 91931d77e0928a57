perfbench_test(engine_data_tests
  SOURCES data_evaluation_test.cpp data_flat_tokens_test.cpp data_instruction_test.cpp data_packing_test.cpp data_resume_test.cpp
    data_synthetic_documents_test.cpp data_window_order_test.cpp training_backend_cpu.cpp
  DEPENDS perfbench_train perfbench_ops_cpu perfbench_datasets)
perfbench_test(engine_checkpoint_tests
  SOURCES checkpoint_files_test.cpp checkpoint_meshes_test.cpp checkpoint_places_test.cpp training_backend_cpu.cpp
  DEPENDS perfbench_train perfbench_ops_cpu)
perfbench_test(engine_weights_tests
  SOURCES weights_test.cpp training_backend_cpu.cpp
  DEPENDS perfbench_train perfbench_checkpoint perfbench_ops_cpu)
# These data sets are made by the program that users make them with. With ThreadSanitizer, all of that would be built
# only for this test.
if(TARGET perfbench AND NOT PERFBENCH_SANITIZE MATCHES "thread")
  perfbench_test(engine_scores_tests
    SOURCES eval_independent_scores_test.cpp training_backend_cpu.cpp
    DEPENDS perfbench_train perfbench_ops_cpu perfbench_datasets)
  target_compile_definitions(engine_scores_tests PRIVATE PERFBENCH_FILE="$<TARGET_FILE:perfbench>")
  add_dependencies(engine_scores_tests perfbench)
endif()
