#include "harness/predict/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/predict/symmetric_system.h"

namespace perfbench::predict {
namespace {

// Standard deviations of logarithms, from the spread of public measurements.
constexpr double kMemoryPrior = 0.15;
constexpr double kNetworkPrior = 0.25;
constexpr double kContentionPrior = 0.7;
constexpr double kStragglerPrior = 0.5;
constexpr double kGroupMatmulPrior = 0.08;
constexpr double kGroupAttentionPrior = 0.15;

constexpr double kJacobianStep = 1e-4;
constexpr double kDeviationStep = 1e-3;

double log_ratio(const Sample& sample, const Corrections& corrections) {
  return std::log(step_time(sample.parts, corrections).total_s / sample.published.step_s);
}

// The signed root of twice the pseudo-Huber loss, whose square a least-squares fit sums.
double residual_of(const Sample& sample, const Corrections& corrections) {
  const double weight = sample.published.well_specified() ? 1 : kUnderspecifiedWeight;
  const double r = weight * log_ratio(sample, corrections) / kRowNoise;
  return std::copysign(std::sqrt(2 * (std::sqrt(1 + r * r) - 1)), r);
}

double sum_of_squares(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

}  // namespace

Calibration::Calibration(const Samples& training, CalibrationChoice choice) : choice_(std::move(choice)) {
  if (training.empty()) return;
  if (choice_.shared) {
    declare("memory", kMemoryPrior);
    declare("contention", kContentionPrior);
    declare("straggler", kStragglerPrior);
    declare("network", kNetworkPrior);
  }
  for (const auto* sample : training) {
    const auto& device = *sample->published.setup.device;
    if (choice_.architectures) declare(device.figures.architecture + " matmul", device.architecture.uncertainty);
    const auto group = choice_.group(sample->published);
    declare(group + " group matmul", kGroupMatmulPrior);
    declare(group + " group attention", kGroupAttentionPrior);
  }
  std::vector<TrainingRow> rows;
  for (const auto* sample : training) rows.push_back({sample, constants_of(sample->published)});
  fit(rows);
}

void Calibration::declare(const std::string& name, double prior) {
  if (!index_.emplace(name, priors_.size()).second) return;
  priors_.push_back(prior);
  values_.push_back(0);
}

Calibration::Constants Calibration::constants_of(const PublishedCase& row) const {
  const auto& device = *row.setup.device;
  const auto group = choice_.group(row);
  const auto constant = [this](double Corrections::*part, double prior, const std::string& name) -> Constant {
    const auto found = index_.find(name);
    return {part, prior, found == index_.end() ? kNotFitted : found->second};
  };
  return {constant(&Corrections::matmul, device.architecture.uncertainty, device.figures.architecture + " matmul"),
          constant(&Corrections::memory, kMemoryPrior, "memory"),
          constant(&Corrections::contention, kContentionPrior, "contention"),
          constant(&Corrections::straggler, kStragglerPrior, "straggler"),
          constant(&Corrections::network, kNetworkPrior, "network"),
          constant(&Corrections::matmul, kGroupMatmulPrior, group + " group matmul"),
          constant(&Corrections::attention, kGroupAttentionPrior, group + " group attention")};
}

Corrections Calibration::corrections_at(const Constants& constants, const std::vector<double>& values) {
  Corrections out;
  for (const auto& constant : constants) {
    if (constant.index != kNotFitted) out.*constant.part += values[constant.index];
  }
  return out;
}

Corrections Calibration::corrections(const PublishedCase& row) const {
  return corrections_at(constants_of(row), values_);
}

std::map<std::string, double> Calibration::constants() const {
  std::map<std::string, double> out;
  for (const auto& [name, index] : index_) out[name] = values_[index];
  return out;
}

std::vector<double> Calibration::residuals(const std::vector<TrainingRow>& rows,
                                           const std::vector<double>& values) const {
  std::vector<double> out;
  out.reserve(rows.size() + values.size());
  for (const auto& row : rows) out.push_back(residual_of(*row.sample, corrections_at(row.constants, values)));
  for (std::size_t i = 0; i < values.size(); ++i) out.push_back(values[i] / priors_[i]);
  return out;
}

// Sets curvature_ and gradient_ at values_. A row depends on its own constants alone, so its part of J'J is small.
void Calibration::linearise(const std::vector<TrainingRow>& rows, const std::vector<double>& residuals) {
  const std::size_t n = values_.size();
  curvature_.assign(n * n, 0);
  gradient_.assign(n, 0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto& sample = *rows[row].sample;
    const auto& constants = rows[row].constants;
    const auto base = corrections_at(constants, values_);
    std::array<double, kConstantsOfRow> slopes{};
    for (std::size_t k = 0; k < constants.size(); ++k) {
      if (constants[k].index == kNotFitted) continue;
      auto moved = base;
      moved.*constants[k].part += kJacobianStep;
      slopes[k] = (residual_of(sample, moved) - residuals[row]) / kJacobianStep;
    }
    for (std::size_t k = 0; k < constants.size(); ++k) {
      if (constants[k].index == kNotFitted) continue;
      gradient_[constants[k].index] += slopes[k] * residuals[row];
      for (std::size_t j = 0; j < constants.size(); ++j) {
        if (constants[j].index == kNotFitted) continue;
        curvature_[constants[k].index * n + constants[j].index] += slopes[k] * slopes[j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    curvature_[i * n + i] += 1 / (priors_[i] * priors_[i]);
    gradient_[i] += values_[i] / (priors_[i] * priors_[i]);
  }
}

void Calibration::fit(const std::vector<TrainingRow>& rows) {
  constexpr int kMostSteps = 12;
  constexpr double kEnough = 1e-3;  // relative improvement of the loss
  constexpr double kFirstDamping = 1e-3;
  const std::size_t n = values_.size();
  auto current = residuals(rows, values_);
  double loss = sum_of_squares(current);
  double damping = kFirstDamping;
  for (int step = 0; step < kMostSteps; ++step) {
    linearise(rows, current);
    auto damped = curvature_;
    for (std::size_t i = 0; i < n; ++i) damped[i * n + i] *= 1 + damping;
    const auto move = solve_symmetric(damped, gradient_);
    auto moved = values_;
    for (std::size_t i = 0; i < n; ++i) moved[i] -= move[i];
    auto next = residuals(rows, moved);
    const double next_loss = sum_of_squares(next);
    if (next_loss >= loss) {
      damping *= 10;
      continue;
    }
    const bool done = loss - next_loss < kEnough * loss;
    values_ = std::move(moved);
    current = std::move(next);
    loss = next_loss;
    damping /= 5;
    if (done) break;
  }
  covariance_ = inverse_symmetric(curvature_, n);
}

double Calibration::deviation(const Sample& sample) const {
  const auto constants = constants_of(sample.published);
  const auto base = corrections_at(constants, values_);
  const double at_base = std::log(step_time(sample.parts, base).total_s);
  std::array<double, kConstantsOfRow> slopes{};
  double variance = 0;
  for (std::size_t k = 0; k < constants.size(); ++k) {
    auto moved = base;
    moved.*constants[k].part += kDeviationStep;
    slopes[k] = (std::log(step_time(sample.parts, moved).total_s) - at_base) / kDeviationStep;
    if (constants[k].index == kNotFitted) variance += std::pow(slopes[k] * constants[k].prior, 2);
  }
  const std::size_t n = values_.size();
  for (std::size_t k = 0; k < constants.size(); ++k) {
    for (std::size_t j = 0; j < constants.size(); ++j) {
      if (constants[k].index == kNotFitted || constants[j].index == kNotFitted) continue;
      variance += slopes[k] * slopes[j] * covariance_[constants[k].index * n + constants[j].index];
    }
  }
  return std::sqrt(variance);
}

}  // namespace perfbench::predict
