// docs/metrics_and_verdicts.md explains every metric, verdict and reason that the code has, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "harness/evidence/attempt.h"
#include "harness/judge/night_cells.h"
#include "harness/judge/night_verdict.h"
#include "harness/records/alert.h"
#include "harness/records/executed_pair.h"
#include "harness/records/finding.h"
#include "harness/stats/verdict.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {
namespace {

// The rows of the table whose first column has this title: by the word in backquotes that each begins with.
std::vector<std::string> explained(const std::string& title) {
  std::ifstream guide(PERFBENCH_SOURCE_DIR "/docs/metrics_and_verdicts.md");
  std::vector<std::string> words;
  bool inside = false;
  for (std::string line; std::getline(guide, line);) {
    if (line.starts_with("| " + title + " |")) inside = true;
    if (!line.starts_with("|")) inside = false;
    if (inside && line.starts_with("| `")) words.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return words;
}

template <class E>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& entry : spec::EnumNames<E>::kNames) names.emplace_back(entry.second);
  return names;
}

TEST(VerdictGuide, ListsEveryMetric) {
  std::vector<std::string> metrics;
  for (const auto& metric : spec::kMetricCatalog) metrics.emplace_back(metric.tag);
  EXPECT_THAT(explained("Metric"), testing::ElementsAreArray(metrics));
}

TEST(VerdictGuide, ExplainsTheStatesOfRunsAndAlerts) {
  EXPECT_THAT(explained("Attempt"), testing::ElementsAreArray(names_of<AttemptState>()));
  EXPECT_THAT(explained("Alert"), testing::ElementsAreArray(names_of<AlertState>()));
}

TEST(VerdictGuide, ExplainsEveryVerdict) {
  EXPECT_THAT(explained("Verdict"), testing::ElementsAreArray(names_of<Verdict>()));
}

TEST(VerdictGuide, ExplainsEveryReasonAndItsRemedy) {
  EXPECT_THAT(explained("Reason"), testing::ElementsAreArray(names_of<VerdictReason>()));
}

TEST(VerdictGuide, ExplainsWhyPairsAreLeftOut) {
  EXPECT_THAT(explained("Discarded"), testing::ElementsAreArray(names_of<Discard>()));
}

TEST(VerdictGuide, ExplainsTheWordsOfANight) {
  EXPECT_THAT(explained("State"), testing::ElementsAreArray(names_of<CellState>()));
  EXPECT_THAT(explained("Finding"), testing::ElementsAreArray(names_of<FindingKind>()));
  EXPECT_THAT(explained("Confirmation"), testing::ElementsAreArray(names_of<Confirmation>()));
}

}  // namespace
}  // namespace perfbench::harness
