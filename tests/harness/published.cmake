perfbench_test(published_test
  SOURCES published_catalog_test.cpp published_test.cpp
  DEPENDS perfbench_judge perfbench_matrix)
