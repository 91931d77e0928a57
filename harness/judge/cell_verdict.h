// From the pairs of one cell to what is known about it: pure functions of what was measured.
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
  std::size_t most_discarded = 16;  // pairs of a cell that may be replaced
  std::size_t most_failures = 3;    // of A in a cell without a pair that counts, then the cell is given up
  SpoilRule spoil;
  // Of pairs in turns: what a side may compute while the other one steps, of a core.
  double most_cores_while_waiting = 0.05;
};

// Where the last look has too few pairs to name a difference of a metric with noise: how many it takes.
std::optional<std::size_t> pairs_lacking(const AbRule& rule);

// Of the standard looks those below `pairs`, and `pairs` itself.
std::vector<std::size_t> looks_up_to(std::size_t pairs);

struct MetricVerdict {
  MetricRule rule;
  PairedDecision decided;
  std::optional<double> a_median;
  std::optional<double> b_median;
  std::size_t pairs = 0;  // it was decided on
};

struct SideFailures {
  std::size_t runs = 0;  // that ended well or failed
  std::size_t count = 0;
  std::string first;  // "crashed: signal 11"
};

struct DiscardedPairs {
  std::size_t count = 0;
  std::string first;  // why, in words
};

// What a pair said of the step time, whether it counts or not.
struct PairSeen {
  std::size_t number = 1;            // ExecutedPair
  std::optional<double> step_ratio;  // B / A; nothing where a run did not end well
  std::string discarded;             // why it is left out; empty: it is not
};

struct CellVerdict {
  std::string label;
  bool in_turns = false;               // AbCell
  std::string apart_because;           // AbCell
  std::vector<MetricVerdict> metrics;  // those that both sides measured; empty when no pair could be held together
  std::optional<Decision> whole;       // about the cell itself: a side that fails, or cells that cannot be compared
  std::size_t pairs_used = 0;
  std::size_t pairs_discarded = 0;
  std::vector<PairSeen> pairs_seen;  // in the order executed
  std::map<Discard, DiscardedPairs> discarded;
  std::map<Side, DiscardedPairs> spoiled_alone;  // of those, where circumstances spoiled the run of one side alone
  SideFailures a_failures;
  SideFailures b_failures;
  std::map<Side, WatchedWait> waits;  // of the pairs in turns that count: what a side computed while the other stepped
  std::optional<double> instructions_ratio;  // B / A, median over the pairs that counted on both sides
  std::vector<std::string> notes;
  std::optional<Attribution> attribution;  // of a difference in step time

  bool final = false;         // no further pair would be asked for
  std::size_t next_look = 0;  // kept pairs to have before the next decision; 0 when final
};

using WantedPairs = std::map<std::string, std::size_t>;  // by metric

// What is known of a cell before any verdict: its pairs, those discarded, failures of its sides. `pairs` are those of
// one cell, in the order executed.
CellVerdict count_pairs(const std::string& label, const std::vector<const ExecutedPair*>& pairs,
                        const SpoilRule& spoil);

// How often a side failed, where that is no verdict about the cell as a whole: to its notes.
void note_failures(CellVerdict& cell);

// What count_pairs() gives, with verdicts. Before the first look nothing is decided. A metric keeps what
// the first look came to that decided it, though the cell goes on for another: a later look would be one more chance to
// be wrong. Of the metrics in `wanted` nothing is decided, and the cell is not final, before there are so many pairs.
CellVerdict judge_cell(const std::string& label, const std::vector<const ExecutedPair*>& pairs, const AbRule& rule,
                       const WantedPairs& wanted = {});

// Over all measured metrics of all cells (control_false_discoveries): what does not survive becomes INCONCLUSIVE.
void control_cells(std::vector<CellVerdict>& cells, double alpha);

// After that: pairs to have, so that another look may decide what did not survive; nothing where none is planned.
WantedPairs pairs_wanted(const CellVerdict& cell);

// For overall(): a side of a comparison that was asked for and cannot be held against the other is undecided.
std::vector<Verdict> verdicts_of(const std::vector<CellVerdict>& cells);

// What keeps a gate from passing though nothing regressed (gate_refusal of paired_decision.h), one line a metric.
std::vector<std::string> gate_refusals(const std::vector<CellVerdict>& cells, const AbRule& rule);

}  // namespace perfbench::harness
