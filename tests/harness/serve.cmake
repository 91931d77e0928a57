perfbench_test(serve_guards_test
  SOURCES serve_guards_test.cpp serve_view_request_test.cpp
  DEPENDS perfbench_serve)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
perfbench_test(serve_deadline_test
  SOURCES serve_deadline_test.cpp
  DEPENDS perfbench_serve example_run PkgConfig::HTTPLIB)
perfbench_test(serve_kept_answers_test
  SOURCES serve_kept_answers_test.cpp
  DEPENDS perfbench_kept_answers)
