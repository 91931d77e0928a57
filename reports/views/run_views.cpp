#include "reports/views/run_views.h"

#include "harness/app/runs/traced_roofline.h"
#include "reports/content/roofline.h"
#include "reports/content/run_document.h"
#include "reports/content/trace_difference_document.h"
#include "reports/content/trace_document.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::reports {

const harness::CountedMemory& MemoryCounts::of(const harness::NamedRun& named) {
  if (counts_.size() == kMost) counts_.clear();
  const auto [found, is_new] = counts_.try_emplace(named.run_id);
  if (is_new) found->second = harness::memory_of(*named.attempts.front().run, engine_);
  return found->second;
}

Document run_view(const harness::Connection& db, harness::NamedRun named, const RunQuery& query,
                  const harness::Installation& installation, MemoryCounts& memory) {
  auto view = harness::view_run(db, std::move(named), query.runs, query.fields, installation);
  view.steps = harness::steps_of(db, view.named);
  view.baseline = harness::against_baseline(db, view);
  if (!view.named.attempts.front().run->program) view.memory = memory.of(view.named);
  return run_document(view);
}

Document difference_view(const harness::Connection& db, harness::NamedRun left, harness::NamedRun right,
                         const RunQuery& query, const harness::Installation& installation) {
  const auto side = [&](harness::NamedRun& named) {
    return harness::view_run(db, std::move(named), query.runs, query.fields, installation);
  };
  auto first = side(left);  // rows that cannot be read are named in this order
  return difference_document(harness::hold_side_by_side(std::move(first), side(right)));
}

Document trace_view(const harness::TracedRun& traced, const harness::Installation& installation) {
  auto out = trace_document(traced.traces, traced.run ? std::optional(traced.run->mesh) : std::nullopt);
  if (const auto roofline = harness::roofline_of(traced, installation)) add_roofline(out, *roofline);
  return out;
}

Document trace_difference_view(const std::vector<harness::RankTrace>& before,
                               const std::vector<harness::RankTrace>& after) {
  const auto found = harness::hold_traces_side_by_side(before, after);
  return trace_difference_document(found.parts, found.operations);
}

}  // namespace perfbench::reports
