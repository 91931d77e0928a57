perfbench_library(example_run SOURCES example_run.cpp DEPENDS perfbench_evidence)
perfbench_library(made_up_trace SOURCES trace/made_up_trace.cpp trace/trace_event_format.cpp DEPENDS perfbench_trace_summary example_run)

perfbench_test(evidence_test
  SOURCES evidence_attempt_json_test.cpp evidence_file_schemas_test.cpp evidence_gpu_samples_test.cpp evidence_output_file_test.cpp evidence_run_directory_test.cpp
          evidence_trace_file_test.cpp identity_run_id_test.cpp
  DEPENDS perfbench_system perfbench_store made_up_trace)
