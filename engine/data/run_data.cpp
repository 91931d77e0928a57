#include "engine/data/run_data.h"

#include <string>

#include "engine/core/error.h"

namespace perfbench::engine {

RunData make_run_data(const spec::RunSpec& run) {
  RunData out;
  if (run.trains()) {
    out.tokens = make_token_source(run);
    if (run.evaluates_at_end()) {
      out.evaluation = make_evaluation_source(run, run.evaluation.path, run.evaluation.split);
    }
    return out;
  }
  out.evaluation = make_evaluation_source(run, run.data.path, run.data.split);
  const auto rows = out.evaluation->rows();
  const auto steps = evaluation_steps(run, rows);
  if (run.steps != steps) {
    throw BadInput(run.data.path + "/" + run.data.split + ": has " + std::to_string(rows) + " rows, which are " +
                   std::to_string(steps) + " steps of " + std::to_string(run.global_batch) + "; the run says steps " +
                   std::to_string(run.steps));
  }
  return out;
}

}  // namespace perfbench::engine
