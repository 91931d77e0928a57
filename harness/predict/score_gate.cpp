#include "harness/predict/score_gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/matrix/yaml_document.h"
#include "workloads/spec/fields_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::predict {
namespace {

struct ExpectationFile {
  std::vector<ExpectedScore> expected;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(spec::Field{.name = "expected", .help = "scores", .presence = spec::Presence::required}, self.expected);
  }
};

}  // namespace

std::vector<ExpectedScore> load_expected_scores(const std::filesystem::path& file) {
  const auto document = harness::YamlDocument::load(file, "expected scores");
  try {
    return spec::fields_from_json<ExpectationFile>(document.root(), spec::Missing::takes_default).expected;
  } catch (const spec::SpecError& e) {
    throw document.error(e);
  }
}

std::vector<std::string> missed_expectations(const std::vector<ExpectedScore>& expected,
                                             const std::vector<Score>& scores, const std::vector<ScoreSplit>& splits) {
  std::vector<std::string> out;
  for (const auto& wanted : expected) {
    if (std::find(splits.begin(), splits.end(), wanted.split) == splits.end()) continue;
    const auto name = fmt::format("{}, {}", spec::enum_name(wanted.split), wanted.rows);
    const auto found = std::find_if(scores.begin(), scores.end(), [&](const Score& score) {
      return score.split == wanted.split && score.rows == wanted.rows;
    });
    if (found == scores.end()) {
      out.push_back(name + ": there is no such score any more");
      continue;
    }
    const auto count = static_cast<std::int64_t>(found->accuracy.rows);
    if (count < wanted.count) {
      out.push_back(fmt::format("{}: {} rows are predicted, {} were", name, count, wanted.count));
    }
    constexpr double kPercent = 100;
    const double error = found->accuracy.mean_absolute_error;
    if (error > wanted.mape_percent / kPercent + kGateMargin) {
      out.push_back(fmt::format("{}: the mean absolute error is {:.1f} %, it was {:.1f} %", name, kPercent * error,
                                wanted.mape_percent));
    }
  }
  return out;
}

}  // namespace perfbench::predict
