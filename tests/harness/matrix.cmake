perfbench_test(matrix_test
  SOURCES matrix_bad_files_test.cpp matrix_constraint_test.cpp matrix_expand_test.cpp matrix_facts_test.cpp
          matrix_files_test.cpp matrix_fuzz_test.cpp matrix_mistakes_test.cpp matrix_model_catalog_test.cpp matrix_readme_test.cpp
          matrix_reference_names_test.cpp matrix_yaml_document_test.cpp
  DEPENDS perfbench_matrix example_run)
