// Predicts the step times of a matrix's cells, as a software stack would train them.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/app/sweep/planned_sweep.h"
#include "harness/predict/prediction.h"

namespace perfbench::harness {

struct PredictedCell {
  std::string label;
  std::int64_t devices = 1;
  std::string reason;                                  // why it is not predicted; empty: it is
  std::optional<predict::Prediction> prediction = {};  // in PredictedCells::samples
  double tokens_per_s_per_device = 0;
  double mfu_fraction = 0;  // with non-causal attention
};

// `cells` points into `samples`, which point into `data`: the whole can be moved, but not copied.
struct PredictedCells {
  PredictedCells() = default;
  PredictedCells(const PredictedCells&) = delete;
  PredictedCells(PredictedCells&&) = default;
  PredictedCells& operator=(const PredictedCells&) = delete;
  PredictedCells& operator=(PredictedCells&&) = default;
  ~PredictedCells() = default;

  std::string matrix;
  std::string stack;
  predict::PredictorData data;
  std::deque<predict::Sample> samples;
  std::vector<PredictedCell> cells;  // in the order of the matrix
};

// `stack`: a file of workloads/predictor/stacks. The intervals follow from the errors of the published rows when
// nothing is fitted. Throws InputError for an unknown stack and for a broken matrix or data file.
PredictedCells predicted_cells(const MatrixOptions& matrix, const std::string& stack,
                               const std::filesystem::path& data_dir);

}  // namespace perfbench::harness
