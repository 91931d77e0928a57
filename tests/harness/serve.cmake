perfbench_test(serve_guards_test
  SOURCES serve_guards_test.cpp serve_view_request_test.cpp
  DEPENDS perfbench_serve)
perfbench_test(serve_kept_answers_test
  SOURCES serve_kept_answers_test.cpp
  DEPENDS perfbench_kept_answers)
