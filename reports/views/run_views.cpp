#include "reports/views/run_views.h"

#include "harness/app/runs/traced_roofline.h"
#include "harness/evidence/environment_rows.h"
#include "harness/matrix/matrix.h"
#include "reports/content/cells.h"
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

namespace {

void add_trace_origin(Document& out, const harness::TracedRun& traced) {
  if (const auto& attempt = traced.attempt) {
    out.add_origin("Date", attempt->started_utc);
    out.add_origin("Cell", harness::shown_label(attempt->cell));
  }
  if (!traced.environment) return;
  const auto& environment = *traced.environment;
  out.add_origin("Machine",
                 harness::device_model({{"gpu_model", environment.gpu_model}, {"cpu_model", environment.cpu_model}}));
  out.add_origin("Commit", first_digits(environment.git_commit));
}

}  // namespace

Document trace_view(const harness::TracedRun& traced, const harness::Installation& installation) {
  auto out = trace_document(traced.traces, traced.run ? std::optional(traced.run->mesh) : std::nullopt);
  if (const auto roofline = harness::roofline_of(traced, installation)) add_roofline(out, *roofline);
  add_trace_origin(out, traced);
  return out;
}

Document trace_difference_view(const harness::TracedRun& before, const harness::TracedRun& after) {
  const auto found = harness::hold_traces_side_by_side(before.traces, after.traces);
  auto out = trace_difference_document(found.parts, found.operations);
  add_trace_origin(out, after);
  if (before.attempt) out.add_origin("Compared with", before.attempt->started_utc);
  return out;
}

}  // namespace perfbench::reports
