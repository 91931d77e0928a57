perfbench_test(parallel_test
  SOURCES parallel_mesh_test.cpp parallel_collectives_test.cpp parallel_launched_ranks_test.cpp
  DEPENDS perfbench_parallel)
