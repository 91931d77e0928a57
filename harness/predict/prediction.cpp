#include "harness/predict/prediction.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace perfbench::predict {

double Prediction::log_error() const {
  return std::log(time.total_s / sample->published.step_s);
}
double Prediction::relative_error() const {
  return time.total_s / sample->published.step_s - 1;
}
double Prediction::low_s() const {
  return time.total_s * std::exp(-half_width);
}
double Prediction::high_s() const {
  return time.total_s * std::exp(half_width);
}

Predictions predict(const Calibration& calibration, const Samples& rows) {
  Predictions out;
  out.reserve(rows.size());
  for (const auto* sample : rows) {
    const double assumed = sample->published.well_specified() ? 0 : kUnderspecifiedNoise;
    const double constants = calibration.deviation(*sample);
    out.push_back({.sample = sample,
                   .time = step_time(sample->parts, calibration.corrections(sample->published)),
                   .deviation = std::sqrt(kRowNoise * kRowNoise + constants * constants + assumed * assumed)});
  }
  return out;
}

double interval_factor(const Predictions& calibrating) {
  constexpr double kCovered = 0.8;
  constexpr double kNormalFactor = 1.28;
  constexpr double kRounding = 1e-9;
  if (calibrating.empty()) return kNormalFactor;
  std::map<std::string, double> rows_of_family;
  for (const auto& p : calibrating) rows_of_family[p.sample->published.family] += 1;
  struct Scored {
    double score;
    double weight;
  };
  std::vector<Scored> scored;
  for (const auto& p : calibrating) {
    scored.push_back({std::abs(p.log_error()) / p.deviation, 1 / rows_of_family[p.sample->published.family]});
  }
  std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    return a.score < b.score || (a.score == b.score && a.weight < b.weight);
  });
  double total = 0;
  double squares = 0;
  for (const auto& s : scored) {
    total += s.weight;
    squares += s.weight * s.weight;
  }
  const double effective = total * total / squares;
  const double needed = std::min(1.0, kCovered * (effective + 1) / effective) * total;
  double reached = 0;
  for (const auto& s : scored) {
    reached += s.weight;
    if (reached >= needed - kRounding) return s.score;
  }
  return scored.back().score;
}

void set_intervals(Predictions& predictions, double factor) {
  for (auto& p : predictions) p.half_width = factor * p.deviation;
}

void set_intervals_by_others(Predictions& predictions, const RowKey& key) {
  std::map<std::string, double> factors;
  for (auto& p : predictions) {
    const auto own = key(p.sample->published);
    auto found = factors.find(own);
    if (found == factors.end()) {
      Predictions others;
      std::copy_if(predictions.begin(), predictions.end(), std::back_inserter(others),
                   [&](const Prediction& other) { return key(other.sample->published) != own; });
      found = factors.emplace(own, interval_factor(others)).first;
    }
    p.half_width = found->second * p.deviation;
  }
}

}  // namespace perfbench::predict
