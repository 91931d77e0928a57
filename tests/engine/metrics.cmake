# A library with NVML's function names, opened in place of the driver's.
add_library(fake_nvml MODULE fake_nvml.cpp)
target_link_libraries(fake_nvml PRIVATE perfbench_settings)
perfbench_test(engine_metrics_tests
  SOURCES metrics_gpu_telemetry_test.cpp
  DEPENDS perfbench_metrics)
add_dependencies(engine_metrics_tests fake_nvml)
target_compile_definitions(engine_metrics_tests PRIVATE PERFBENCH_FAKE_NVML="$<TARGET_FILE:fake_nvml>")
