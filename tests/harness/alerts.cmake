perfbench_library(http_server SOURCES http_server.cpp DEPENDS perfbench_execute)
perfbench_test(alerts_test
  SOURCES alerts_ledger_test.cpp alerts_outbox_test.cpp alerts_rules_test.cpp alerts_webhook_test.cpp
  DEPENDS perfbench_store example_run http_server)
