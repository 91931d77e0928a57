#include "harness/judge/comparability.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "harness/evidence/environment_rows.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::harness {
namespace {

// Fields of a RunSpec, by their dotted names, that define what is computed and on what device. All of `model` belongs
// to them except its name: two names of one architecture mean the same work.
constexpr std::array<std::string_view, 6> kWorkFields{"device",       "hardware", "precision",
                                                      "global_batch", "seq_len",  "data.kind"};
// Fields that define neither the work nor how it is done: how long it is measured, and from which seeds.
constexpr std::array<std::string_view, 4> kIncidentalFields{"model.name", "steps", "seed", "data.seed"};
// Facts of a machine without which times mean nothing.
constexpr std::array<std::string_view, 3> kMachineFacts{"cpu_model", "cores_allowed", "gpu_model"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_work(std::string_view field) {
  return (field.starts_with("model.") && field != "model.name") || contains(kWorkFields, field);
}

std::string plain(std::string text) {
  std::erase(text, '"');
  return text;
}

std::string versus(std::string_view what, const std::string& current, const std::string& baseline) {
  return std::string(what) + " " + plain(current) + " vs " + plain(baseline);
}

std::string fact(const std::map<std::string, std::string>& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "unknown" : found->second;
}

bool environments_known(const ComparedSide& current, const ComparedSide& baseline) {
  return !current.environment.empty() && !baseline.environment.empty();
}

}  // namespace

std::vector<Obstacle> obstacles(const ComparedSide& current, const ComparedSide& baseline) {
  std::vector<Obstacle> out;
  if (environments_known(current, baseline)) {
    for (const auto& d : environment_difference(current.environment, baseline.environment)) {
      if (contains(kMachineFacts, d.field)) {
        out.push_back({VerdictReason::other_machine, versus(d.field, d.left, d.right)});
      }
    }
  }
  const auto differing = spec::difference(current.run, baseline.run);
  const bool other_model = std::any_of(differing.begin(), differing.end(), [](const auto& d) {
    return d.field.starts_with("model.") && d.field != "model.name";
  });
  if (other_model && current.run.model.name != baseline.run.model.name) {
    out.push_back({VerdictReason::other_work, versus("model", current.run.model.name, baseline.run.model.name)});
  }
  for (const auto& d : differing) {
    // The names of two models say more than their twenty fields.
    const bool said = d.field.starts_with("model.") && current.run.model.name != baseline.run.model.name;
    if (is_work(d.field) && !said) out.push_back({VerdictReason::other_work, versus(d.field, d.left, d.right)});
  }
  const auto mine = current.run.mesh.devices();
  const auto theirs = baseline.run.mesh.devices();
  if (mine != theirs) {
    out.push_back({VerdictReason::other_work, versus("devices", std::to_string(mine), std::to_string(theirs))});
  }
  return out;
}

std::vector<spec::FieldDifference> environment_difference(const std::map<std::string, std::string>& left,
                                                          const std::map<std::string, std::string>& right) {
  std::set<std::string> names;
  for (const auto* side : {&left, &right}) {
    for (const auto& [name, value] : *side) names.insert(name);
  }
  std::vector<spec::FieldDifference> out;
  for (const auto& name : names) {
    auto mine = fact(left, name);
    auto theirs = fact(right, name);
    if (mine != theirs) out.push_back({name, std::move(mine), std::move(theirs)});
  }
  return out;
}

std::vector<std::string> differences(const ComparedSide& current, const ComparedSide& baseline) {
  std::vector<std::string> out;
  for (const auto& d : spec::difference(current.run, baseline.run)) {
    if (!is_work(d.field) && !contains(kIncidentalFields, d.field)) out.push_back(versus(d.field, d.left, d.right));
  }
  if (!environments_known(current, baseline)) {
    out.emplace_back("the environment of a side is unknown");
    return out;
  }
  for (const auto& d : environment_difference(current.environment, baseline.environment)) {
    if (!contains(kMachineFacts, d.field)) out.push_back(versus(d.field, d.left, d.right));
  }
  return out;
}

std::string not_comparable_text(const std::vector<Obstacle>& obstacles) {
  std::string out = "not comparable because: ";
  for (std::size_t i = 0; i < obstacles.size(); ++i) out += (i > 0 ? "; " : "") + obstacles[i].text;
  return out;
}

namespace {

// Facts that affect rounding, except the engine's code, which is the subject of the comparison.
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
  if (theirs == nullptr) return "the engine behind the baseline is unknown";
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
