// Predictions of published rows with their 80 % intervals.
//
// The half width of an interval is a factor times the standard deviation of the row. The factor is the quantile of
// |ln(predicted / published)| / deviation over OTHER rows (split-conformal, corrected for their number). Every family
// weighs the same there, because the rows of one family are not independent.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/predict/calibration.h"

namespace perfbench::predict {

struct Prediction {
  const Sample* sample = nullptr;
  StepTime time;
  double deviation = 0;   // standard deviation of the logarithm
  double half_width = 0;  // of the 80 % interval of the logarithm

  double log_error() const;  // ln(predicted / published)
  double relative_error() const;
  double low_s() const;
  double high_s() const;
};
using Predictions = std::vector<Prediction>;

// Without half widths.
Predictions predict(const Calibration& calibration, const Samples& rows);

// The factor that covers 80 % of these predictions; that of a normal distribution if there are none.
double interval_factor(const Predictions& calibrating);

using RowKey = std::function<std::string(const PublishedCase&)>;

// Sets the half width of each prediction by the others that differ from it in `key`.
void set_intervals_by_others(Predictions& predictions, const RowKey& key);
void set_intervals(Predictions& predictions, double factor);

}  // namespace perfbench::predict
