# The CUDA backend's own sources as plain C++ on an emulated device, so that every kernel is executed on machines
# without a GPU. Only the toolkit's headers are needed.
find_path(PERFBENCH_CUDA_INCLUDE cuda_runtime.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
find_path(PERFBENCH_NCCL_INCLUDE nccl.h HINTS ${PERFBENCH_CUDA_INCLUDE})
mark_as_advanced(PERFBENCH_CUDA_INCLUDE PERFBENCH_NCCL_INCLUDE)

set(PERFBENCH_EMULATE_CUDA FALSE)
if(NOT PERFBENCH_CUDA_INCLUDE)
  message(STATUS "Emulated CUDA tests: not built, the toolkit's headers were not found (PERFBENCH_CUDA_INCLUDE)")
elseif(PERFBENCH_SANITIZE MATCHES "thread")
  message(STATUS "Emulated CUDA tests: not built, ThreadSanitizer does not follow their fibers")
else()
  set(PERFBENCH_EMULATE_CUDA TRUE)
  message(STATUS "Emulated CUDA tests: built with the headers of ${PERFBENCH_CUDA_INCLUDE}")
endif()
if(NOT PERFBENCH_EMULATE_CUDA)
  return()
endif()

perfbench_library(perfbench_emulated_cuda
  SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/block.cpp
    ${CMAKE_CURRENT_LIST_DIR}/fiber.cpp
    ${CMAKE_CURRENT_LIST_DIR}/runtime.cpp
    ${CMAKE_CURRENT_LIST_DIR}/stream.cpp
    ${PROJECT_SOURCE_DIR}/engine/cuda/cuda_device.cpp
    ${PROJECT_SOURCE_DIR}/engine/cuda/cuda_memory.cpp
    ${PROJECT_SOURCE_DIR}/engine/cuda/cuda_timeline.cpp
  DEPENDS perfbench_core)
# A caller that sees into a switch would keep values in registers across it.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/fiber.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# Our own headers with the names that kernels include come before the toolkit's.
target_include_directories(perfbench_emulated_cuda PUBLIC ${CMAKE_CURRENT_LIST_DIR}/include)
target_include_directories(perfbench_emulated_cuda SYSTEM PUBLIC ${PERFBENCH_CUDA_INCLUDE})
target_compile_options(perfbench_emulated_cuda PUBLIC -Wno-unknown-pragmas)  # nvcc's `unroll`

perfbench_test(engine_emulation_tests SOURCES emulation_test.cpp emulation_tiles_test.cpp
  DEPENDS perfbench_ops perfbench_emulated_cuda)

# The backend itself: the lists of engine/ops/cuda, with twins of the parts that use libraries.
include(${PROJECT_SOURCE_DIR}/engine/ops/cuda/sources.cmake)
set(emulated_sources ${PERFBENCH_CUDA_KERNELS} ${PERFBENCH_CUDA_HOST_SOURCES})
list(TRANSFORM emulated_sources PREPEND ${PERFBENCH_CUDA_OPS_FOLDER}/)
# Only in this folder: elsewhere nvcc compiles the same files.
set_source_files_properties(${emulated_sources} PROPERTIES LANGUAGE CXX)
perfbench_library(perfbench_emulated_ops_cuda
  SOURCES
    ${emulated_sources}
    ${PERFBENCH_CUDA_OPS_FOLDER}/attention/no_cudnn.cpp
    ${PERFBENCH_CUDA_OPS_FOLDER}/matmul/product.cpp
    ${PERFBENCH_CUDA_OPS_FOLDER}/matmul/vector_parts.cpp
    ${CMAKE_CURRENT_LIST_DIR}/twins/kernel_nodes.cpp
    ${CMAKE_CURRENT_LIST_DIR}/twins/matmul_provider.cpp
    ${CMAKE_CURRENT_LIST_DIR}/twins/sort_pairs.cpp
  DEPENDS perfbench_ops perfbench_emulated_cuda)
# As with nvcc, each kernel's file is compiled separately.
set_target_properties(perfbench_emulated_ops_cuda PROPERTIES UNITY_BUILD OFF)
# Kernels use fmaf. Unless the processor's own instruction is enabled, it is a call of libm, which takes a third of a
# step's time.
target_compile_options(perfbench_emulated_ops_cuda PRIVATE -march=${PERFBENCH_MARCH} -ffp-contract=off)

set_target_properties(perfbench_emulated_cuda perfbench_emulated_ops_cuda PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
set(emulated_tests ${ops_tests} ${cuda_ops_tests})
if(PERFBENCH_UNOPTIMISED)
  target_compile_options(perfbench_emulated_cuda PRIVATE -O1)
  target_compile_options(perfbench_emulated_ops_cuda PRIVATE -O1)
  # Products and attention are too slow even so.
  set(emulated_tests $<TARGET_OBJECTS:engine_row_test_objects> ops_cuda_test.cpp)
endif()
perfbench_test(engine_emulated_ops_tests
  SOURCES ${emulated_tests} ops_under_test_cuda.cpp
  DEPENDS perfbench_emulated_ops_cuda
  PREFIX emulated.)

# Several emulated devices, one process each: NCCL's twin uses MPI. Not beside the real libraries, which the collectives
# of a CUDA build link.
if(PERFBENCH_HAS_MPI AND PERFBENCH_NCCL_INCLUDE AND NOT PERFBENCH_SANITIZE AND NOT PERFBENCH_HAS_CUDA)
  find_package(MPI REQUIRED COMPONENTS CXX)
  perfbench_library(perfbench_emulated_nccl
    SOURCES
      ${CMAKE_CURRENT_LIST_DIR}/twins/nccl.cpp
      ${PROJECT_SOURCE_DIR}/engine/parallel/cuda/nccl_collectives.cpp
      ${PROJECT_SOURCE_DIR}/engine/parallel/cuda/nccl_communicator.cpp
      ${PROJECT_SOURCE_DIR}/engine/parallel/cuda/no_nccl_buffers.cpp
      ${PROJECT_SOURCE_DIR}/engine/parallel/cuda/own_gpus.cpp
    DEPENDS perfbench_parallel perfbench_emulated_cuda
    PRIVATE_DEPENDS MPI::MPI_CXX)
  target_include_directories(perfbench_emulated_nccl SYSTEM PUBLIC ${PERFBENCH_NCCL_INCLUDE})
endif()

# perfbench-engine as a program on emulated GPUs: each of its processes runs on a machine that has
# PERFBENCH_EMULATED_GPUS of them.
if(TARGET perfbench_emulated_nccl AND TARGET perfbench-engine)
  add_executable(perfbench-engine-emulated
    $<TARGET_OBJECTS:perfbench_engine_main>
    ${PROJECT_SOURCE_DIR}/engine/main/cuda_backend.cpp
    ${PROJECT_SOURCE_DIR}/engine/trace/no_cupti.cpp)
  target_link_libraries(perfbench-engine-emulated PRIVATE perfbench_settings perfbench_no_faults perfbench_train perfbench_checkpoint
    perfbench_ops_cpu perfbench_emulated_ops_cuda perfbench_emulated_nccl perfbench_build_info)
endif()
