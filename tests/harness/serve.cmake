perfbench_test(serve_guards_test
  SOURCES serve_guards_test.cpp
  DEPENDS perfbench_serve)
