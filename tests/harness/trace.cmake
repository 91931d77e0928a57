perfbench_library(made_up_trace SOURCES trace/made_up_trace.cpp DEPENDS perfbench_trace_summary example_run)
perfbench_test(trace_test
  SOURCES
    trace/classification_test.cpp
    trace/exports_test.cpp
    trace/step_split_test.cpp
    trace/trace_file_test.cpp
    trace/trace_summary_test.cpp
  DEPENDS perfbench_sqlite made_up_trace)
