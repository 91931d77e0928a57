// The progress display of a comparison: one line a pair, or a line that is rewritten on a terminal, with the remaining
// time at the present rate of discarded pairs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/execute/progress.h"
#include "harness/judge/cell_verdict.h"
#include "harness/records/executed_pair.h"
#include "reports/render/format/escape.h"

namespace perfbench::harness {

struct PairsLeft {
  std::size_t to_next_look = 0;  // for all open cells, if no pair is discarded
  std::size_t at_most = 0;       // if no cell is decided early
};

PairsLeft pairs_left(const std::vector<CellVerdict>& cells, const std::vector<std::size_t>& looks);

// The number of pairs that must be executed for one that counts, given the numbers executed and kept so far: 1 if none
// was discarded.
double executions_a_pair(std::size_t executed, std::size_t kept);

class AbProgress {
 public:
  AbProgress(std::FILE* out, SweepProgress::Style style, std::vector<std::size_t> looks);

  void set_looks(std::vector<std::size_t> looks) { looks_ = std::move(looks); }
  void begin(const ExecutedPair& pair, const std::string& label, std::size_t cells);
  void end(const ExecutedPair& pair, const std::vector<CellVerdict>& cells);
  void say(const reports::Plain& text);  // prints a line that stays

 private:
  void rewrite(const reports::Plain& line);

  std::FILE* out_;
  SweepProgress::Style style_;
  std::vector<std::size_t> looks_;
  std::string label_;
  double executed_s_ = 0;
  std::size_t executed_ = 0;
  std::size_t kept_ = 0;  // of those
  bool line_is_shown_ = false;
};

// Executes the pairs of a comparison: one round after another over all cells that are still open, so that a slow drift
// of the machine affects all of them equally, and within a pair in a random order (harness/stats/pairs.h). The caller
// decides what a run is, where it is stored and what is shown.
struct AbHooks {
  // Executes one side of a cell in a new process. The state `cancelled` ends the comparison.
  std::function<SideRun(const AbCell& cell, Side side)> run;
  // Executes both sides in turns, for cells with `in_turns`; `pair` has cell, number and first.
  std::function<void(const AbCell& cell, ExecutedPair& pair)> run_in_turns;
  std::function<void(const ExecutedPair& pair)> record;  // called for a complete pair, before the next one starts
  std::function<bool()> cancelled;                       // checked between two runs
  // Progress; all of these may be empty.
  std::function<void(const ExecutedPair& pair)> on_begin;  // `pair` has cell, number and first
  std::function<void(const ExecutedPair& pair, const std::vector<CellVerdict>& cells)> on_end;
  // May be empty. Called once, after the first round, with the time that its pairs took, if all of them were kept.
  // Returns the rule for the rest. It must not look at the difference between the sides, and no look may lie within the
  // first round.
  std::function<AbRule(double round_s)> rule_after_first_round;
};

struct AbResult {
  std::vector<ExecutedPair> pairs;  // by cell, then number, including those that were passed in
  std::vector<CellVerdict> cells;   // in the order of the cells
  AbRule rule;                      // the one that decided
  bool cancelled = false;
};

// `done`: pairs of an interrupted comparison, in the order of execution. The verdicts are those after the last pair,
// with control of false discoveries over all of them.
AbResult run_pairs(const std::vector<AbCell>& cells, const AbRule& rule, std::uint64_t seed, const AbHooks& hooks,
                   std::vector<ExecutedPair> done = {});

}  // namespace perfbench::harness
