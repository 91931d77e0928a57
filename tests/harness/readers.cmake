perfbench_test(readers_test
  SOURCES readers/dialects_test.cpp readers/files_test.cpp readers/settle_test.cpp readers/streams_test.cpp
  DEPENDS perfbench_readers fmt::fmt)
