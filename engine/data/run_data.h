// The data that a run reads.
#pragma once

#include <memory>

#include "engine/data/evaluation_source.h"
#include "engine/data/token_source.h"

namespace perfbench::engine {

// For a run that trains; selected by run.data.kind.
std::unique_ptr<TokenSource> make_token_source(const spec::RunSpec& run);

struct RunData {
  std::unique_ptr<TokenSource> tokens;           // for a run that trains
  std::unique_ptr<EvaluationSource> evaluation;  // for a run that evaluates
};

// Throws BadInput; for task eval also if run.steps differs from the number that the data set takes.
RunData make_run_data(const spec::RunSpec& run);

}  // namespace perfbench::engine
