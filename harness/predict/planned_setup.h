// A run of a matrix as a software stack would train it.
#pragma once

#include <string>
#include <variant>

#include "harness/predict/published_case.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::predict {

// The setup, or in one line why the predictor has no figures or no model for it. The mesh, batch, remat policy and
// attention come from the run; all else from the stack and the device. `stack` and `data` must outlive the result.
std::variant<TrainingSetup, std::string> setup_of_run(const spec::RunSpec& run, const SoftwareStack& stack,
                                                      const PredictorData& data);

}  // namespace perfbench::predict
