// The scores that the repository promises, and what fell short of them: a check for continuous integration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/predict/score.h"

namespace perfbench::predict {

inline constexpr double kGateMargin = 0.005;  // of MAPE: half a point

struct ExpectedScore {
  ScoreSplit split = ScoreSplit::zero_fit;
  std::string rows;         // as Score::rows
  std::int64_t count = 0;   // predicted rows
  double mape_percent = 0;  // when the file was written

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    using spec::Field;
    constexpr auto kRequired = spec::Presence::required;
    f(Field{.name = "split", .help = "split of the score table", .presence = kRequired}, self.split);
    f(Field{.name = "rows", .help = "rows of the score table", .presence = kRequired}, self.rows);
    f(Field{"count", "predicted rows", 1, 1e6, kRequired}, self.count);
    f(Field{"mape_percent", "mean absolute error when this was written", 0, 1e4, kRequired}, self.mape_percent);
  }
};

// Throws InputError with the place for a broken file.
std::vector<ExpectedScore> load_expected_scores(const std::filesystem::path& file);

// One sentence for each expectation of the computed splits that is missed: an error that rose by more than kGateMargin,
// rows that are no longer predicted, and a score that is gone. Expectations of other splits are left out.
std::vector<std::string> missed_expectations(const std::vector<ExpectedScore>& expected,
                                             const std::vector<Score>& scores, const std::vector<ScoreSplit>& splits);

}  // namespace perfbench::predict
