perfbench_test(trace_test
  SOURCES
    trace/attribution_test.cpp
    trace/classification_test.cpp
    trace/exports_test.cpp
    trace/step_alignment_test.cpp
    trace/step_split_test.cpp
    trace/trace_summary_test.cpp
  DEPENDS perfbench_store made_up_trace)
