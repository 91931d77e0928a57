# The CUDA backend's own sources as plain C++ on an emulated device, so that every kernel is executed where no GPU is.
# Of the toolkit only the headers are needed.
find_path(PERFBENCH_CUDA_INCLUDE cuda_runtime.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
mark_as_advanced(PERFBENCH_CUDA_INCLUDE)

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
# Its own headers under the names that kernels ask for, before the toolkit's.
target_include_directories(perfbench_emulated_cuda PUBLIC ${CMAKE_CURRENT_LIST_DIR}/include)
target_include_directories(perfbench_emulated_cuda SYSTEM PUBLIC ${PERFBENCH_CUDA_INCLUDE})
target_compile_options(perfbench_emulated_cuda PUBLIC -Wno-unknown-pragmas)  # nvcc's `unroll`

perfbench_test(engine_emulation_tests SOURCES emulation_test.cpp emulation_tiles_test.cpp
  DEPENDS perfbench_ops perfbench_emulated_cuda)

# The backend itself: the lists of engine/ops/cuda, with twins of what stands on libraries.
include(${PROJECT_SOURCE_DIR}/engine/ops/cuda/sources.cmake)
set(emulated_sources ${PERFBENCH_CUDA_KERNELS} ${PERFBENCH_CUDA_HOST_SOURCES})
list(TRANSFORM emulated_sources PREPEND ${PERFBENCH_CUDA_OPS_FOLDER}/)
# Of this folder alone: nvcc compiles the same files elsewhere.
set_source_files_properties(${emulated_sources} PROPERTIES LANGUAGE CXX)
perfbench_library(perfbench_emulated_ops_cuda
  SOURCES
    ${emulated_sources}
    ${PERFBENCH_CUDA_OPS_FOLDER}/attention/no_cudnn.cpp
    ${PERFBENCH_CUDA_OPS_FOLDER}/matmul/product.cpp
    ${CMAKE_CURRENT_LIST_DIR}/twins/matmul_provider.cpp
    ${CMAKE_CURRENT_LIST_DIR}/twins/sort_pairs.cpp
  DEPENDS perfbench_ops perfbench_emulated_cuda)
# As nvcc compiles them: each kernel's file for itself.
set_target_properties(perfbench_emulated_ops_cuda PROPERTIES UNITY_BUILD OFF)

set(emulated_tests ${ops_tests} ${cuda_ops_tests})
if(PERFBENCH_SANITIZE)
  # As engine/CMakeLists.txt. Products and attention are too slow all the same.
  target_compile_options(perfbench_emulated_cuda PRIVATE -O1)
  target_compile_options(perfbench_emulated_ops_cuda PRIVATE -O1)
  set(emulated_tests $<TARGET_OBJECTS:engine_row_test_objects> ops_cuda_test.cpp)
endif()
perfbench_test(engine_emulated_ops_tests
  SOURCES ${emulated_tests} ops_under_test_cuda.cpp
  DEPENDS perfbench_emulated_ops_cuda
  PREFIX emulated.)
