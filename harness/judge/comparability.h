// Whether two runs may be compared at all: they must do the same work on the same kind of machine. How the work is done
// (mesh layout, attention kernel, remat, scan, buffers) may differ, because that is what a comparison is for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/judge/cell_runs.h"
#include "harness/stats/decision.h"
#include "workloads/spec/run_spec_json.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

struct ComparedSide {
  const spec::RunSpec& run;
  const std::map<std::string, std::string>& environment;  // facts; empty: unknown
};

struct Obstacle {
  VerdictReason reason = VerdictReason::other_work;
  std::string text;  // "seq_len 2048 vs 128": this run's value, then the baseline's
};

// All reasons against a comparison; empty: comparable. An unknown environment is not an obstacle but leads to a note.
std::vector<Obstacle> obstacles(const ComparedSide& current, const ComparedSide& baseline);

// Facts of the environment whose values differ, by name; a fact that one side lacks is "unknown" there.
std::vector<spec::FieldDifference> environment_difference(const std::map<std::string, std::string>& left,
                                                          const std::map<std::string, std::string>& right);

// Other differences, for the reader of a comparison: "remat full vs none", "kernel 6.1.0 vs 6.5.0".
std::vector<std::string> differences(const ComparedSide& current, const ComparedSide& baseline);

// "not comparable because: a vs b; c vs d"
std::string not_comparable_text(const std::vector<Obstacle>& obstacles);

// Whether a number without noise (spec::MetricNoise::exact) comes from the same arithmetic on both sides. Returns why
// equal work may give different bits on the two sides: other libraries or kernels, or a run that need not repeat. Empty
// if it cannot. `theirs` is null if the baseline consists of numbers, about which none of that is known.
std::string why_not_exact(const CellRuns& cell, const CellRuns* theirs);

}  // namespace perfbench::harness
