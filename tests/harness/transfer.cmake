perfbench_test(transfer_test
  SOURCES transfer_archive_test.cpp transfer_merge_test.cpp transfer_table_shape_test.cpp
  DEPENDS perfbench_transfer perfbench_alerts example_run)
