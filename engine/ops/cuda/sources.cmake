# The sources of the cuda backend, in lists that the emulated tests compile too (tests/engine/emulation).
set(PERFBENCH_CUDA_OPS_FOLDER ${CMAKE_CURRENT_LIST_DIR})
# Compiled by nvcc, or as plain C++ if they are emulated.
set(PERFBENCH_CUDA_KERNELS
  attention/attention_flash.cu
  attention/attention_flash_backward.cu
  attention/distance_sums.cu
  attention/masked_softmax.cu
  experts/expert_rows.cu
  experts/grouped_product.cu
  experts/routing.cu
  noise_probe.cu
  operations/activation.cu
  operations/adamw.cu
  operations/column_sums.cu
  operations/cross_entropy.cu
  operations/dropout.cu
  operations/elementwise.cu
  operations/embedding.cu
  operations/norm.cu
  operations/norm_backward.cu
  operations/quantize.cu
  operations/random.cu
  operations/reduce.cu
  operations/relative_bias.cu
  operations/rope.cu
  operations/transpose_codes.cu)
set(PERFBENCH_CUDA_HOST_SOURCES
  cuda_ops.cpp
  attention/attention_dot_product.cpp
  attention/attention_layout.cpp
  experts/expert_product.cpp
  host/host_mailbox.cpp
  host/recordings.cpp
  host/upload_staging.cpp
  operations/attention.cpp
  operations/matmul.cpp
  operations/transfer.cpp)
# These use libraries of the toolkit and the driver; the emulation has twins of them.
set(PERFBENCH_CUDA_LIBRARY_SOURCES
  host/kernel_nodes.cpp
  matmul/matmul_provider.cpp
  operations/sort_pairs.cu)
