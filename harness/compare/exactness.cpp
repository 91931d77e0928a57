#include "harness/compare/exactness.h"

#include <algorithm>

#include "harness/compare/comparability.h"
#include "harness/store/environment_rows.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

// What rounds, beside the engine's own code: that is what is compared.
bool is_of_arithmetic(const std::string& fact) {
  return is_library_fact(fact) || fact == "cuda" || fact == "cpu_features" || fact == "gpu_driver" ||
         fact == "threads_per_rank";
}

// The kernels that the newest finished run used.
const std::vector<spec::AttentionKernel>& kernels_of(const CellRuns& cell) {
  const auto done = cell.finished();
  return done.empty() ? cell.attempts.back().attention_kernels : done.back()->attention_kernels;
}

bool same_kernel(const spec::AttentionKernel& a, const spec::AttentionKernel& b) {
  return a.direction == b.direction && a.computed_by == b.computed_by;
}

}  // namespace

std::string why_not_exact(const CellRuns& cell, const CellRuns* theirs) {
  if (theirs == nullptr) return "what computed the baseline is not known";
  if (!cell.run().deterministic || !theirs->run().deterministic) return "deterministic: false";
  if (cell.environment().empty() || theirs->environment().empty()) return "the environment of a side is unknown";
  for (const auto& d : environment_difference(cell.environment(), theirs->environment())) {
    if (is_of_arithmetic(d.field)) return d.field + " " + d.left + " vs " + d.right;
  }
  const auto& a = kernels_of(cell);
  const auto& b = kernels_of(*theirs);
  const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(), same_kernel);
  return same ? "" : "attention was computed by other kernels";
}

}  // namespace perfbench::harness
