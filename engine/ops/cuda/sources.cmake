# The sources of the cuda backend, in lists that the emulated tests compile too (tests/engine/emulation).
set(PERFBENCH_CUDA_OPS_FOLDER ${CMAKE_CURRENT_LIST_DIR})
# Compiled by nvcc, or as plain C++ where they are emulated.
set(PERFBENCH_CUDA_KERNELS
  activation.cu
  adamw.cu
  column_sums.cu
  cross_entropy.cu
  elementwise.cu
  embedding.cu
  norm.cu
  random.cu
  reduce.cu
  rope.cu)
set(PERFBENCH_CUDA_HOST_SOURCES
  host_mailbox.cpp
  recordings.cpp
  transfer.cpp
  upload_staging.cpp)
# On libraries of the toolkit; the emulation has twins of them.
set(PERFBENCH_CUDA_LIBRARY_SOURCES
  sort_pairs.cu)
