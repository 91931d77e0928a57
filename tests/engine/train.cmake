perfbench_test(engine_train_tests
  SOURCES train_evaluation_result_test.cpp main_cpu_backend_test.cpp ops_costs_test.cpp train_cpu_workspace_test.cpp train_dry_walk_test.cpp
    train_logits_test.cpp train_mesh_property_test.cpp train_pipeline_schedule_test.cpp train_operations_test.cpp
    train_lora_costs_test.cpp train_overlap_test.cpp
    ${PROJECT_SOURCE_DIR}/engine/main/backend.cpp ${PROJECT_SOURCE_DIR}/engine/main/no_cuda.cpp
  DEPENDS perfbench_train perfbench_ops_cpu OpenMP::OpenMP_CXX)
perfbench_test(engine_dry_memory_tests
  SOURCES train_memory_property_test.cpp train_peak_report_test.cpp
  DEPENDS perfbench_train)
if(TARGET perfbench-engine)
  # With sanitizers an engine takes long to start, and these tests start it often.
  if(NOT PERFBENCH_SANITIZE)
    set(killed_runs_test main_killed_runs_test.cpp)
  endif()
  perfbench_test(engine_program_test SOURCES main_checkpoint_test.cpp ${killed_runs_test} main_dry_command_test.cpp main_file_limit_test.cpp main_profile_test.cpp main_turns_test.cpp DEPENDS perfbench_train)
  target_compile_definitions(engine_program_test PRIVATE PERFBENCH_ENGINE_FILE="$<TARGET_FILE:perfbench-engine>")
  add_dependencies(engine_program_test perfbench-engine)
endif()
if(TARGET perfbench-micro)
  perfbench_test(engine_micro_test SOURCES micro_step_test.cpp DEPENDS perfbench_train)
  target_compile_definitions(engine_micro_test PRIVATE PERFBENCH_MICRO_FILE="$<TARGET_FILE:perfbench-micro>")
  add_dependencies(engine_micro_test perfbench-micro)
endif()
if(TARGET perfbench-engine-emulated)
  perfbench_test(engine_emulated_program_test SOURCES main_emulated_gpus_test.cpp DEPENDS perfbench_train)
  target_compile_definitions(engine_emulated_program_test PRIVATE
    PERFBENCH_MPIEXEC="${MPIEXEC_EXECUTABLE}"
    PERFBENCH_ENGINE_FILE="$<TARGET_FILE:perfbench-engine>"
    PERFBENCH_EMULATED_ENGINE_FILE="$<TARGET_FILE:perfbench-engine-emulated>")
  add_dependencies(engine_emulated_program_test perfbench-engine perfbench-engine-emulated)
endif()
# Whole training steps on each backend: one set of sources, linked once for each.
perfbench_test_objects(engine_training_test_objects
  SOURCES train_checkpoint_test.cpp train_dropout_test.cpp train_equality_test.cpp train_evaluation_test.cpp train_golden_test.cpp train_head_test.cpp
    train_lora_merge_test.cpp train_lora_test.cpp train_masked_test.cpp train_packed_test.cpp
  DEPENDS perfbench_train)
set(training_tests $<TARGET_OBJECTS:engine_training_test_objects>)
perfbench_test(engine_training_tests
  SOURCES ${training_tests} train_fp8_test.cpp training_backend_cpu.cpp
  DEPENDS perfbench_train perfbench_ops_cpu)
if(PERFBENCH_HAS_CUDA)
  perfbench_test(engine_cuda_training_tests
    SOURCES ${training_tests} training_backend_cuda.cpp
    DEPENDS perfbench_train perfbench_ops_cuda
    PREFIX cuda.)
endif()
# Not with sanitizers, which make it too slow, nor beside the real runtime, which the collectives of a CUDA build link.
if(PERFBENCH_EMULATE_CUDA AND NOT PERFBENCH_SANITIZE AND NOT PERFBENCH_HAS_CUDA)
  perfbench_test(engine_emulated_training_tests
    SOURCES ${training_tests} trace_steps_test.cpp training_backend_cuda.cpp
    DEPENDS perfbench_train perfbench_ops_cpu perfbench_emulated_ops_cuda
    PREFIX emulated.)
  target_compile_definitions(engine_emulated_training_tests PRIVATE PERFBENCH_EMULATED_DEVICE)
endif()
