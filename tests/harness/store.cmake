perfbench_library(example_run SOURCES example_run.cpp DEPENDS perfbench_attempt perfbench_run_id)
perfbench_test(store_test
  SOURCES store_attempt_json_test.cpp store_ingest_test.cpp store_query_test.cpp store_schema_test.cpp store_step_line_test.cpp store_version1_test.cpp
  DEPENDS perfbench_store example_run)
