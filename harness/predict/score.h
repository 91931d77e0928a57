// The scores of the predictor on published rows: what was fitted on which rows, and how well the others are predicted.
// A row is never in the training rows of its own prediction.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/predict/accuracy.h"
#include "harness/predict/prediction.h"
#include "workloads/spec/enum_names.h"

namespace perfbench::predict {

enum class ScoreSplit {
  zero_fit,           // nothing is fitted
  leave_one_out,      // fitted on the other rows, and for an external family on the rows of all external families
  llm_foundry_folds,  // ten folds by a hash of the row's name
  leave_source_out,   // fitted on the rows of all other documents
  leave_system_out,   // fitted on the rows of all other families
  extrapolation,      // fitted on the small rows of llm-foundry, tested on the large ones
};

// One line of the score table.
struct Score {
  ScoreSplit split = ScoreSplit::zero_fit;
  std::string rows;  // "reference", "well-specified", a family
  Accuracy accuracy;
  std::optional<double> constant_mfu_error;  // MAPE of the baselines with the same training rows
  std::optional<double> constant_hfu_error;
  std::size_t unpredicted = 0;  // rows of this subset that cannot be predicted
  Predictions predictions;
};

// In the order of `splits`. The predictions point into `samples`, which must outlive them.
std::vector<Score> scores(const std::vector<Sample>& samples, const std::vector<UnpredictedRow>& unpredicted,
                          const std::vector<ScoreSplit>& splits);

std::vector<Sample> samples_of(const std::vector<PublishedCase>& cases);

// The fold of a row among `folds`: a hash of its name (FNV-1a), the same everywhere.
std::size_t fold_of(const std::string& name, std::size_t folds);

}  // namespace perfbench::predict

template <>
struct perfbench::spec::EnumNames<perfbench::predict::ScoreSplit> {
  using S = perfbench::predict::ScoreSplit;
  static constexpr std::array kNames{std::pair{S::zero_fit, "zero_fit"},
                                     std::pair{S::leave_one_out, "leave_one_out"},
                                     std::pair{S::llm_foundry_folds, "llm_foundry_folds"},
                                     std::pair{S::leave_source_out, "leave_source_out"},
                                     std::pair{S::leave_system_out, "leave_system_out"},
                                     std::pair{S::extrapolation, "extrapolation"}};
};
