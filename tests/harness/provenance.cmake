perfbench_test(provenance_diagnosis_test
  SOURCES provenance_diagnosis_test.cpp
  DEPENDS perfbench_execute)
