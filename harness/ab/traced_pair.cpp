#include "harness/ab/traced_pair.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/identity/run_id.h"
#include "harness/trace/step_split.h"

namespace perfbench::harness {
namespace {

constexpr std::int64_t kTracedSteps = 6;  // attribution takes the middle half

Cell with_traced_steps(Cell cell) {
  cell.run.trace_steps = std::max(cell.run.trace_steps, kTracedSteps);
  cell.run.profile = {};
  cell.run_id = run_id(cell.run);
  return cell;
}

}  // namespace

TracedPair trace_pair(const SideExecution& execution, const AbCell& cell) {
  const AbCell traced{.label = cell.label, .a = with_traced_steps(cell.a), .b = with_traced_steps(cell.b)};
  TracedPair out;
  std::vector<std::vector<StepSplit>> splits;
  for (const auto side : {Side::a, Side::b}) {
    std::filesystem::path directory;
    const auto run = execute_side(execution, traced, side, &directory);
    out.cancelled = run.state == AttemptState::cancelled;
    if (run.state != AttemptState::ok) {
      out.problem =
          fmt::format("the traced run of {} is {}: {}", spec::enum_name(side), spec::enum_name(run.state), run.reason);
      return out;
    }
    try {
      splits.push_back(split_steps(read_traces(directory, traced.of(side).run.mesh.devices())));
    } catch (const std::exception& e) {
      out.problem = e.what();
      return out;
    }
  }
  out.attribution = attribute({splits[0]}, {splits[1]});
  if (!out.attribution) out.problem = "a side's engine traced no step";
  return out;
}

}  // namespace perfbench::harness
