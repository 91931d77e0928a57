#include "engine/data/run_data.h"

#include <string>

#include "engine/core/error.h"
#include "engine/data/synthetic_documents.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

std::unique_ptr<TokenSource> make_token_source(const spec::RunSpec& run) {
  switch (run.data.kind) {
    case spec::DataKind::synthetic:
      if (run.packs_documents()) return make_packed_documents(run, drawn_packing(run));
      if (run.counts_targets()) return make_synthetic_documents(run, drawn_documents(run));
      return make_synthetic_tokens(run);
    case spec::DataKind::flat_tokens:
      return make_flat_tokens(run);
    case spec::DataKind::instruction:
      return make_instruction_tokens(run);
  }
  throw LogicFault("there is no source for this kind of data");
}

RunData make_run_data(const spec::RunSpec& run) {
  RunData out;
  if (run.trains()) {
    out.tokens = make_token_source(run);
    if (run.evaluates_at_end()) {
      out.evaluation = make_evaluation_source(run, run.evaluation.path, run.evaluation.split);
    }
    return out;
  }
  if (run.data.kind == spec::DataKind::synthetic) {
    out.evaluation = make_synthetic_evaluation(run);
    return out;
  }
  out.evaluation = make_evaluation_source(run, run.data.path, run.data.split);
  const auto rows = out.evaluation->rows();
  const auto steps = evaluation_steps(run, rows);
  if (run.steps != steps) {
    throw BadInput(run.data.path + "/" + run.data.split + ": has " + std::to_string(rows) + " rows, which are " +
                   std::to_string(steps) + " steps of " + std::to_string(run.global_batch) + "; the run has steps " +
                   std::to_string(run.steps));
  }
  return out;
}

}  // namespace perfbench::engine
