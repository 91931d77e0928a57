perfbench_test(engine_trace_tests
  SOURCES trace_recorder_test.cpp trace_steps_test.cpp training_backend_cpu.cpp
  DEPENDS perfbench_train perfbench_ops_cpu)
if(PERFBENCH_HAS_CUPTI)
  perfbench_test(engine_cupti_tests SOURCES trace_cupti_records_test.cpp DEPENDS perfbench_device_trace PREFIX cuda.)
endif()
if(PERFBENCH_NVTX_INCLUDE)
  perfbench_test(engine_nvtx_tests SOURCES trace_nvtx_ranges_test.cpp DEPENDS perfbench_trace)
  target_include_directories(engine_nvtx_tests SYSTEM PRIVATE ${PERFBENCH_NVTX_INCLUDE})
endif()
