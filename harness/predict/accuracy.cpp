#include "harness/predict/accuracy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "harness/predict/baseline_utilisation.h"
#include "harness/predict/numbers.h"
#include "harness/stats/statistics.h"

namespace perfbench::predict {
namespace {

std::optional<double> pair_order(const Predictions& predictions) {
  constexpr double kTableNoise = 0.02;
  struct Slowness {
    double published;
    double predicted;
  };
  std::vector<Slowness> rows;
  for (const auto& p : predictions) {
    const double ideal = ideal_seconds(p.sample->published.setup, UtilisationKind::mfu);
    rows.push_back({p.sample->published.step_s / ideal, p.time.total_s / ideal});
  }
  std::size_t pairs = 0;
  std::size_t alike = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double difference = std::log(rows[i].published / rows[j].published);
      if (std::abs(difference) <= kTableNoise) continue;
      ++pairs;
      if ((difference < 0) == (rows[i].predicted < rows[j].predicted)) ++alike;
    }
  }
  if (pairs == 0) return std::nullopt;
  return static_cast<double>(alike) / static_cast<double>(pairs);
}

std::optional<double> family_coverage(const Predictions& predictions) {
  constexpr std::size_t kFewFamilies = 3;
  std::map<std::string, std::vector<double>> covered;
  for (const auto& p : predictions) {
    covered[p.sample->published.family].push_back(std::abs(p.log_error()) <= p.half_width ? 1 : 0);
  }
  if (covered.size() <= kFewFamilies) return std::nullopt;
  std::vector<double> shares;
  for (const auto& [family, rows] : covered) shares.push_back(mean(rows));
  return mean(shares);
}

}  // namespace

Accuracy accuracy_of(const Predictions& predictions) {
  std::vector<double> absolute;
  std::vector<double> logs;
  std::vector<double> absolute_logs;
  std::vector<double> covered;
  std::vector<double> widths;
  for (const auto& p : predictions) {
    absolute.push_back(std::abs(p.relative_error()));
    logs.push_back(p.log_error());
    absolute_logs.push_back(std::abs(p.log_error()));
    covered.push_back(absolute_logs.back() <= p.half_width ? 1 : 0);
    widths.push_back(p.half_width);
  }
  constexpr double kHigh = 0.9;
  return {.rows = predictions.size(),
          .mean_absolute_error = mean(absolute),
          .mean_log_error = mean(absolute_logs),
          .bias = mean(logs),
          .p90_absolute_error = harness::quantile(absolute, kHigh),
          .largest_absolute_error = *std::max_element(absolute.begin(), absolute.end()),
          .pair_order = pair_order(predictions),
          .coverage = mean(covered),
          .family_coverage = family_coverage(predictions),
          .mean_half_width = mean(widths)};
}

}  // namespace perfbench::predict
