// What a run reads.
#pragma once

#include <memory>

#include "engine/data/evaluation_source.h"
#include "engine/data/token_source.h"

namespace perfbench::engine {

// By run.data.kind, of a run that trains.
std::unique_ptr<TokenSource> make_token_source(const spec::RunSpec& run);

struct RunData {
  std::unique_ptr<TokenSource> tokens;           // of a run that trains
  std::unique_ptr<EvaluationSource> evaluation;  // of a run that evaluates
};

// Throws BadInput; of task eval also when run.steps are not as many as the data set takes.
RunData make_run_data(const spec::RunSpec& run);

}  // namespace perfbench::engine
