// docs/guides/reading_a_verdict.md explains every verdict and every reason, and none that there is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "harness/judge/night_cells.h"
#include "harness/judge/night_verdict.h"
#include "harness/records/executed_pair.h"
#include "harness/records/finding.h"
#include "harness/stats/verdict.h"

namespace perfbench::harness {
namespace {

// The rows of the table whose first column has this title: by the word in backquotes that each begins with.
std::vector<std::string> explained(const std::string& title) {
  std::ifstream guide(PERFBENCH_SOURCE_DIR "/docs/guides/reading_a_verdict.md");
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

TEST(VerdictGuide, ExplainsEveryVerdict) {
  EXPECT_THAT(explained("Verdict"), testing::ElementsAreArray(names_of<Verdict>()));
}

TEST(VerdictGuide, ExplainsEveryReasonAndWhatItAsksFor) {
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
