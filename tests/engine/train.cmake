perfbench_test(engine_train_tests
  SOURCES train_dry_walk_test.cpp
  DEPENDS perfbench_train)
# Whole training steps on each backend: one set of sources, linked once for each.
set(training_tests train_equality_test.cpp train_golden_test.cpp)
perfbench_test(engine_training_tests
  SOURCES ${training_tests} training_backend_cpu.cpp
  DEPENDS perfbench_train perfbench_ops_cpu)
if(PERFBENCH_EMULATE_CUDA)
  perfbench_test(engine_emulated_training_tests
    SOURCES ${training_tests} training_backend_cuda.cpp
    DEPENDS perfbench_train perfbench_emulated_ops_cuda
    PREFIX emulated.)
endif()
