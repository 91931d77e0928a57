# The operations of each backend compared with oracles in f64: one set of sources, linked once for each backend.
find_package(OpenMP REQUIRED COMPONENTS CXX)
perfbench_test_objects(engine_row_test_objects
  SOURCES ops_document_rows_test.cpp ops_dropout_test.cpp ops_elements_test.cpp ops_experts_test.cpp ops_relative_bias_test.cpp
    ops_rows_test.cpp ops_score_test.cpp ops_vocabulary_test.cpp
  DEPENDS perfbench_ops)
perfbench_test_objects(engine_product_test_objects
  SOURCES ops_attention_test.cpp ops_determinism_test.cpp ops_expert_product_test.cpp ops_float8_test.cpp ops_matmul_test.cpp
    ops_rows_apart_test.cpp
  DEPENDS perfbench_ops)
# Optimised, because the oracles run for longer than that takes to compile.
target_compile_options(engine_product_test_objects PRIVATE -O2)
set_target_properties(engine_product_test_objects PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
set(ops_tests $<TARGET_OBJECTS:engine_row_test_objects> $<TARGET_OBJECTS:engine_product_test_objects>)
perfbench_test(engine_ops_tests
  SOURCES
    ${ops_tests}
    ops_cpu_providers_test.cpp
    ops_oracle_test.cpp
    ops_under_test_cpu.cpp
    ops_vector_math_test.cpp
  DEPENDS perfbench_ops_cpu OpenMP::OpenMP_CXX)
# Replaces an allocator.
perfbench_test(engine_cpu_scratch_tests SOURCES ops_cpu_scratch_test.cpp DEPENDS perfbench_ops_cpu OpenMP::OpenMP_CXX)
# The vector functions are compiled for the test as for the kernels.
set_source_files_properties(ops_vector_math_test.cpp PROPERTIES COMPILE_OPTIONS
  "-O3;-march=${PERFBENCH_MARCH};-ffp-contract=fast;-fno-math-errno;-fno-trapping-math;-Wno-psabi")

# The cuda backend on a GPU (skipped if there is none), and emulated.
set(cuda_ops_tests ops_cuda_attention_parts_test.cpp ops_cuda_attention_test.cpp ops_cuda_test.cpp)
if(PERFBENCH_HAS_CUDA)
  perfbench_test(engine_cuda_ops_tests
    SOURCES ${ops_tests} ${cuda_ops_tests} ops_under_test_cuda.cpp
    DEPENDS perfbench_ops_cuda
    PREFIX cuda.)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/emulation/emulation.cmake)

# The parts of the cuda backend that need no GPU.
find_package(nlohmann_json REQUIRED)
perfbench_test(engine_cuda_choice_tests
  SOURCES ops_attention_parts_test.cpp ops_cuda_algorithm_cache_test.cpp ops_cuda_product_test.cpp
          ops_cuda_vector_parts_test.cpp ops_cuda_workspace_test.cpp
  DEPENDS perfbench_algorithm_cache nlohmann_json::nlohmann_json)
