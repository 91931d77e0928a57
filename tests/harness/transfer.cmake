perfbench_test(transfer_test
  SOURCES transfer_archive_test.cpp transfer_import_test.cpp transfer_records_test.cpp
  DEPENDS perfbench_store perfbench_store example_run)
