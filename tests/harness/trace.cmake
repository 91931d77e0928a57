perfbench_test(trace_test
  SOURCES
    trace/classification_test.cpp
    trace/exports_test.cpp
    trace/trace_file_test.cpp
    trace/trace_summary_test.cpp
    trace/made_up_trace.cpp
  DEPENDS perfbench_trace_summary perfbench_sqlite example_run)
