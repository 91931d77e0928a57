// How well predictions meet published step times. Fractions, not per cent.
#pragma once

#include <cstddef>
#include <optional>

#include "harness/predict/prediction.h"

namespace perfbench::predict {

struct Accuracy {
  std::size_t rows = 0;
  double mean_absolute_error = 0;  // of predicted / published - 1 (MAPE)
  double mean_log_error = 0;       // absolute; a low guess cannot improve it
  double bias = 0;                 // mean of the logarithm; negative: predicted too fast
  double p90_absolute_error = 0;
  double largest_absolute_error = 0;
  // The share of pairs that the prediction orders alike, among pairs of rows whose utilisation differs by over 2 %.
  std::optional<double> pair_order;
  double coverage = 0;                    // rows inside their 80 % interval
  std::optional<double> family_coverage;  // the mean of the families, if there are more than three
  double mean_half_width = 0;
};

// `predictions` is not empty, and has its intervals.
Accuracy accuracy_of(const Predictions& predictions);

}  // namespace perfbench::predict
