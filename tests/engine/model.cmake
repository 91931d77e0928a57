perfbench_test(engine_model_tests
  SOURCES model_rope_table_test.cpp model_schedule_test.cpp model_unit_test.cpp
  DEPENDS perfbench_model perfbench_optim perfbench_data)
