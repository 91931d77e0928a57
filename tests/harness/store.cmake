perfbench_test(store_test
  SOURCES store_attention_kernels_test.cpp store_class_peaks_test.cpp store_evaluation_test.cpp store_ingest_test.cpp store_journal_test.cpp
          store_machine_class_test.cpp store_query_plan_test.cpp store_query_test.cpp store_schema_test.cpp
          store_step_line_test.cpp store_steps_test.cpp store_subject_test.cpp store_sweep_kinds_test.cpp store_tags_test.cpp
          store_traced_steps_test.cpp store_traffic_test.cpp store_version1_test.cpp store_views_test.cpp
  DEPENDS perfbench_store perfbench_store perfbench_judge example_run made_up_trace SQLite::SQLite3)
