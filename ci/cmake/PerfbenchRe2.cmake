# perfbench_re2: the regular expressions of harness/readers. The static library where there is one, because
# perfbench-adapter runs in containers that have none of perfbench's libraries.
find_package(PkgConfig REQUIRED)
pkg_check_modules(PERFBENCH_RE2 REQUIRED re2)
find_library(PERFBENCH_RE2_STATIC NAMES libre2.a HINTS ${PERFBENCH_RE2_LIBRARY_DIRS})
add_library(perfbench_re2 INTERFACE)
target_include_directories(perfbench_re2 SYSTEM INTERFACE ${PERFBENCH_RE2_INCLUDE_DIRS})
# Since 2023 RE2 needs Abseil, whose many parts are not worth naming: the shared library then.
if(PERFBENCH_RE2_STATIC AND NOT PERFBENCH_RE2_LDFLAGS MATCHES "absl")
  target_link_libraries(perfbench_re2 INTERFACE ${PERFBENCH_RE2_STATIC} Threads::Threads)
  set(PERFBENCH_RE2_IS_STATIC TRUE)
else()
  target_link_libraries(perfbench_re2 INTERFACE ${PERFBENCH_RE2_LDFLAGS})
  set(PERFBENCH_RE2_IS_STATIC FALSE)
endif()
