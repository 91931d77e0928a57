perfbench_test(nightly_test
  SOURCES nightly/engine_archive_test.cpp nightly/night_verdict_test.cpp nightly/simulated_nights_test.cpp
  DEPENDS perfbench_nightly example_run)
