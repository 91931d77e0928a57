# Tests when a run of several GPUs ends, hangs or uses the wrong device, and when algorithms are measured, with a CUDA
# runtime, a cuBLASLt and an NCCL that only take notes. Only the headers of the toolkit and of NCCL are needed.
find_path(PERFBENCH_CUBLASLT_INCLUDE cublasLt.h HINTS ${PERFBENCH_CUDA_INCLUDE})
mark_as_advanced(PERFBENCH_CUBLASLT_INCLUDE)
if(NOT PERFBENCH_CUDA_INCLUDE OR NOT PERFBENCH_CUBLASLT_INCLUDE OR NOT PERFBENCH_NCCL_INCLUDE)
  message(STATUS "Tests on a fake CUDA runtime: not built, headers were not found (PERFBENCH_CUDA_INCLUDE, PERFBENCH_CUBLASLT_INCLUDE, PERFBENCH_NCCL_INCLUDE)")
  return()
endif()
message(STATUS "Tests on a fake CUDA runtime: built with the headers of ${PERFBENCH_CUDA_INCLUDE} and ${PERFBENCH_NCCL_INCLUDE}")

perfbench_library(perfbench_fake_cuda
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/cublaslt.cpp
    ${CMAKE_CURRENT_LIST_DIR}/nccl.cpp
    ${CMAKE_CURRENT_LIST_DIR}/runtime.cpp
    ${PROJECT_SOURCE_DIR}/engine/cuda/cuda_device.cpp
    ${PROJECT_SOURCE_DIR}/engine/cuda/cuda_memory.cpp
    ${PROJECT_SOURCE_DIR}/engine/ops/cuda/matmul/matmul_provider.cpp
    ${PROJECT_SOURCE_DIR}/engine/ops/cuda/host/kernel_nodes.cpp
    ${PROJECT_SOURCE_DIR}/engine/ops/cuda/host/recordings.cpp
    ${PROJECT_SOURCE_DIR}/engine/parallel/collectives.cpp
    ${PROJECT_SOURCE_DIR}/engine/parallel/mesh.cpp
    ${PROJECT_SOURCE_DIR}/engine/parallel/cuda/nccl_collectives.cpp
    ${PROJECT_SOURCE_DIR}/engine/parallel/cuda/nccl_communicator.cpp
    ${PROJECT_SOURCE_DIR}/engine/parallel/cuda/no_nccl_buffers.cpp
    ${PROJECT_SOURCE_DIR}/engine/parallel/cuda/own_gpus.cpp
    ${PROJECT_SOURCE_DIR}/engine/parallel/watchdog.cpp
    ${PROJECT_SOURCE_DIR}/engine/main/failing_rank.cpp
    ${PROJECT_SOURCE_DIR}/engine/main/gpu_environment.cpp
  DEPENDS perfbench_algorithm_cache perfbench_metrics perfbench_ops Threads::Threads)
# As in the engine: its classes have fields of anonymous types.
set_source_files_properties(${PROJECT_SOURCE_DIR}/engine/ops/cuda/matmul/matmul_provider.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_include_directories(perfbench_fake_cuda SYSTEM PUBLIC
  ${PERFBENCH_CUDA_INCLUDE} ${PERFBENCH_CUBLASLT_INCLUDE} ${PERFBENCH_NCCL_INCLUDE})

perfbench_test(engine_fake_cuda_tests
  SOURCES
    cuda_device_test.cpp
    main_backend_test.cpp
    ops_cuda_matmul_provider_test.cpp
    ops_cuda_recordings_test.cpp
    parallel_nccl_collectives_test.cpp
    parallel_own_gpus_test.cpp
  DEPENDS perfbench_fake_cuda perfbench_metrics perfbench_ops_cpu
  PREFIX fake_cuda.)
