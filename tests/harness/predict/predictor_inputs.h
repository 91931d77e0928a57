// The shipped data of the predictor, loaded once for all tests of a process.
#pragma once

#include <stdexcept>
#include <string>

#include "harness/app/runs/predictor_scores.h"
#include "harness/predict/step_parts.h"

namespace perfbench::predict {

inline const harness::PredictorScores& shipped() {
  static const auto kScores = harness::predictor_scores(PERFBENCH_SOURCE_DIR, {ScoreSplit::zero_fit});
  return kScores;
}

inline const Sample& shipped_row(const std::string& name) {
  for (const auto& sample : shipped().samples) {
    if (sample.published.name == name) return sample;
  }
  throw std::out_of_range("no row " + name);
}

}  // namespace perfbench::predict
