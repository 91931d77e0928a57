// Corrections of the predictor fitted to published rows, with how uncertain they leave a prediction.
//
// Every constant has a prior: its logarithm is 0 within a standard deviation that follows from the spread of public
// measurements. The fit is the maximum a posteriori by Levenberg-Marquardt: it minimises the sum of
// rho(weight * ln(predicted / published) / kRowNoise) and of (constant / prior)^2, where rho is the pseudo-Huber loss.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/predict/published_case.h"
#include "harness/predict/step_parts.h"
#include "harness/predict/step_time.h"

namespace perfbench::predict {

// A row with its parts, which do not depend on any fit.
struct Sample {
  PublishedCase published;
  StepParts parts;
};
using Samples = std::vector<const Sample*>;

inline constexpr double kRowNoise = 0.05;             // standard deviation of the logarithm of a published time
inline constexpr double kUnderspecifiedNoise = 0.15;  // further, if facts of the row were assumed
inline constexpr double kUnderspecifiedWeight = 0.5;  // of such a row in a fit

struct CalibrationChoice {
  bool shared = true;         // memory, network, contention and stragglers
  bool architectures = true;  // rate of products of an architecture
  std::function<std::string(const PublishedCase&)> group = [](const PublishedCase& row) { return row.group; };
};

class Calibration {
 public:
  // Nothing is fitted: the constants of public measurements.
  Calibration() = default;
  Calibration(const Samples& training, CalibrationChoice choice = {});

  Corrections corrections(const PublishedCase& row) const;

  // The standard deviation of a prediction's logarithm that comes from the constants: from the posterior of fitted ones
  // and from the prior of the others.
  double deviation(const Sample& sample) const;

  // Fitted constants by name: "memory", "h100 matmul", "llmq/h100 attention".
  std::map<std::string, double> constants() const;

 private:
  static constexpr std::size_t kConstantsOfRow = 7;
  static constexpr std::size_t kNotFitted = static_cast<std::size_t>(-1);
  struct Constant {
    double Corrections::*part = nullptr;
    double prior = 0;
    std::size_t index = kNotFitted;  // in values_
  };
  using Constants = std::array<Constant, kConstantsOfRow>;
  struct TrainingRow {
    const Sample* sample = nullptr;
    Constants constants;
  };
  Constants constants_of(const PublishedCase& row) const;
  void declare(const std::string& name, double prior);
  std::vector<double> residuals(const std::vector<TrainingRow>& rows, const std::vector<double>& values) const;
  void linearise(const std::vector<TrainingRow>& rows, const std::vector<double>& residuals);
  void fit(const std::vector<TrainingRow>& rows);
  static Corrections corrections_at(const Constants& constants, const std::vector<double>& values);

  CalibrationChoice choice_;
  std::map<std::string, std::size_t> index_;
  std::vector<double> priors_;
  std::vector<double> values_;
  std::vector<double> curvature_;   // J'J, by rows
  std::vector<double> gradient_;    // J'r
  std::vector<double> covariance_;  // by rows
};

}  // namespace perfbench::predict
