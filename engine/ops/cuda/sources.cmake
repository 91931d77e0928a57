# The sources of the cuda backend, in lists that the emulated tests compile too (tests/engine/emulation).
set(PERFBENCH_CUDA_OPS_FOLDER ${CMAKE_CURRENT_LIST_DIR})
# Compiled by nvcc, or as plain C++ where they are emulated.
set(PERFBENCH_CUDA_KERNELS
  activation.cu
  adamw.cu
  add_bias.cu
  attention_flash.cu
  attention_flash_backward.cu
  column_sums.cu
  cross_entropy.cu
  elementwise.cu
  embedding.cu
  masked_softmax.cu
  norm.cu
  random.cu
  reduce.cu
  rope.cu)
set(PERFBENCH_CUDA_HOST_SOURCES
  attention.cpp
  attention_dot_product.cpp
  attention_layout.cpp
  cuda_ops.cpp
  host_mailbox.cpp
  matmul.cpp
  recordings.cpp
  transfer.cpp
  upload_staging.cpp)
# On libraries of the toolkit; the emulation has twins of them.
set(PERFBENCH_CUDA_LIBRARY_SOURCES
  matmul_provider.cpp
  sort_pairs.cu)
