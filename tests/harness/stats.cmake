perfbench_test(stats_test
  SOURCES stats_decision_test.cpp stats_detection_test.cpp stats_golden_test.cpp stats_leveling_test.cpp
          stats_paired_decision_test.cpp stats_rates_test.cpp stats_screen_test.cpp stats_steady_test.cpp
          stats_trend_test.cpp stats_turn_ratio_test.cpp
  DEPENDS perfbench_evidence perfbench_stats)
