# The CUDA side, absent by default: PERFBENCH_CUDA=ON fails without the toolkit, AUTO takes it where it is installed.
# CMake prints which parts it found when it configures the tree, and every run records them.
set(PERFBENCH_CUDA OFF CACHE STRING "CUDA backend: AUTO, ON or OFF")
set_property(CACHE PERFBENCH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(PERFBENCH_CUDA_ARCHITECTURES "" CACHE STRING "GPU architectures, as CMAKE_CUDA_ARCHITECTURES; empty for sm_80, sm_90a and (where nvcc knows it) sm_100a, with the PTX of compute_80 for all others; native for this machine's")

set(PERFBENCH_HAS_CUDA FALSE)
if(PERFBENCH_CUDA STREQUAL "OFF")
  return()
endif()

# A toolkit is rarely on the path of a login shell.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(PERFBENCH_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(PERFBENCH_NVCC)
    set(CMAKE_CUDA_COMPILER ${PERFBENCH_NVCC})
  endif()
endif()
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  if(PERFBENCH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PERFBENCH_CUDA=ON: nvcc was not found; install the CUDA toolkit (12.4 or newer) or give "
                        "-DCMAKE_CUDA_COMPILER=.../nvcc")
  endif()
  return()
endif()

# Known before the language is enabled, which tests the compiler with it.
if(PERFBENCH_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES ${PERFBENCH_CUDA_ARCHITECTURES})
else()
  # Also PTX of the oldest, which the driver compiles for GPUs that are newer than this list. PTX of 90a works on those
  # chips only, and no kernel needs more than compute_80.
  set(CMAKE_CUDA_ARCHITECTURES 80 90a-real)
endif()
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.4)
  message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION}: perfbench needs 12.4 or newer")
endif()
if(NOT PERFBENCH_CUDA_ARCHITECTURES AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  list(APPEND CMAKE_CUDA_ARCHITECTURES 100a-real)
endif()
# CMake before 3.26 does not know nvcc's C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
find_package(CUDAToolkit REQUIRED)
set(PERFBENCH_HAS_CUDA TRUE)
