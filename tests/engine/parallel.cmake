perfbench_test(parallel_test
  SOURCES parallel_mesh_test.cpp parallel_collectives_test.cpp parallel_host_collectives_test.cpp parallel_launched_ranks_test.cpp parallel_watchdog_test.cpp
  DEPENDS perfbench_parallel)
if(PERFBENCH_HAS_CUDA)
  perfbench_test(engine_nccl_tests SOURCES parallel_nccl_buffers_test.cpp DEPENDS perfbench_parallel perfbench_cuda PREFIX cuda.)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/fake_cuda/fake_cuda.cmake)
