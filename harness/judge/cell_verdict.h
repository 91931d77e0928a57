// Draws the conclusions from the pairs of one cell: pure functions of the measurements.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/spoiled_pair.h"
#include "harness/records/executed_pair.h"
#include "harness/stats/paired_decision.h"
#include "harness/stats/verdict.h"
#include "harness/trace/attribution.h"

namespace perfbench::harness {

struct AbRule {
  std::vector<MetricRule> metrics = default_metric_rules();
  double alpha = 0.01;  // two-sided, over all looks of a metric and, by false discovery rate, all metrics
  std::vector<std::size_t> looks = {4, 8, 16};
  double futile_below = 0;          // PairedRule
  std::size_t most_discarded = 16;  // number of pairs of a cell that may be replaced
  std::size_t most_failures =
      3;  // failures of A in a cell without a pair that counts, after which the cell is given up
  SpoilRule spoil;
  // For pairs in turns: how much of a core a side may use while the other one steps.
  double most_cores_while_waiting = 0.05;
};

// The number of pairs that would be needed to name a difference of a metric with noise, if the last look has fewer.
std::optional<std::size_t> pairs_lacking(const AbRule& rule);

// The standard looks below `pairs`, and `pairs` itself.
std::vector<std::size_t> looks_up_to(std::size_t pairs);

struct MetricVerdict {
  MetricRule rule;
  PairedDecision decided;
  std::optional<double> a_median;
  std::optional<double> b_median;
  std::size_t pairs = 0;  // number of pairs behind the decision
};

struct SideFailures {
  std::size_t runs = 0;  // runs that ended well or failed
  std::size_t count = 0;
  std::string first;  // "crashed: signal 11"
};

struct DiscardedPairs {
  std::size_t count = 0;
  std::string first;  // the reason in words
};

// The step times of a pair, whether it counts or not.
struct PairSeen {
  std::size_t number = 1;            // ExecutedPair
  std::optional<double> step_ratio;  // B / A; nullopt if a run did not end well
  std::string discarded;             // why it is left out; empty: it counts
};

struct CellVerdict {
  std::string label;
  bool in_turns = false;               // AbCell
  std::string apart_because;           // AbCell
  std::vector<MetricVerdict> metrics;  // those that both sides measured; empty if no pair could be compared
  std::optional<Decision> whole;       // about the cell as a whole: a side that fails, or cells that cannot be compared
  std::size_t pairs_used = 0;
  std::size_t pairs_discarded = 0;
  std::vector<PairSeen> pairs_seen;  // in the order of execution
  std::map<Discard, DiscardedPairs> discarded;
  std::map<Side, DiscardedPairs> spoiled_alone;  // those in which circumstances spoiled the run of only one side
  SideFailures a_failures;
  SideFailures b_failures;
  std::map<Side, WatchedWait> waits;  // of the pairs in turns that count: the work of a side while the other stepped
  std::optional<double> instructions_ratio;  // B / A, median over the pairs that were counted on both sides
  std::vector<std::string> notes;
  std::optional<Attribution> attribution;  // causes of a difference in step time

  bool final = false;         // no more pairs are needed
  std::size_t next_look = 0;  // number of kept pairs before the next decision; 0 if final
};

using WantedPairs = std::map<std::string, std::size_t>;  // by metric

// The facts about a cell before any verdict: its pairs, discarded pairs, and failures of its sides. `pairs` are those
// of one cell, in the order of execution.
CellVerdict count_pairs(const std::string& label, const std::vector<const ExecutedPair*>& pairs,
                        const SpoilRule& spoil);

// Adds notes about failures of a side that are not a verdict about the whole cell.
void note_failures(CellVerdict& cell);

// The result of count_pairs(), with verdicts. Before the first look nothing is decided. A metric keeps the result of
// the first look that decided it, even if the cell continues for another metric: a later look would be one more chance
// to be wrong. Metrics in `wanted` stay undecided, and the cell stays open, until there are that many pairs.
CellVerdict judge_cell(const std::string& label, const std::vector<const ExecutedPair*>& pairs, const AbRule& rule,
                       const WantedPairs& wanted = {});

// Controls false discoveries over all measured metrics of all cells (control_false_discoveries): decisions that do not
// survive become INCONCLUSIVE.
void control_cells(std::vector<CellVerdict>& cells, double alpha);

// Afterwards: the number of pairs after which another look may decide the metrics that did not survive; empty if no
// look is planned.
WantedPairs pairs_wanted(const CellVerdict& cell);

// For overall(): if a requested comparison of a cell is impossible, the cell is undecided.
std::vector<Verdict> verdicts_of(const std::vector<CellVerdict>& cells);

// Why a gate must not pass although nothing regressed (gate_refusal of paired_decision.h), one line for each metric.
std::vector<std::string> gate_refusals(const std::vector<CellVerdict>& cells, const AbRule& rule);

}  // namespace perfbench::harness
