// Predicts the published rows and scores the predictions. It reads data files alone, and gives the same numbers
// everywhere.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/predict/score.h"

namespace perfbench::harness {

// `scores` points into `samples`, which point into `data`: the whole can be moved, but not copied.
struct PredictorScores {
  PredictorScores() = default;
  PredictorScores(const PredictorScores&) = delete;
  PredictorScores(PredictorScores&&) = default;
  PredictorScores& operator=(const PredictorScores&) = delete;
  PredictorScores& operator=(PredictorScores&&) = default;
  ~PredictorScores() = default;

  predict::PredictorData data;
  std::vector<predict::Sample> samples;  // every row that can be predicted
  std::vector<predict::UnpredictedRow> unpredicted;
  std::vector<predict::Score> scores;
};

// `data_dir` holds workloads/ (installation.h). Throws InputError for a broken data file.
PredictorScores predictor_scores(const std::filesystem::path& data_dir, const std::vector<predict::ScoreSplit>& splits);

}  // namespace perfbench::harness
