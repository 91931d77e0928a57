// Executes the pairs of a comparison: round after round over all cells that are still open, so that a slow drift of the
// machine hits all of them alike, and within a pair in a random order (compare/pair_order.h). What a run is, where it
// is kept and what is shown are the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/ab/cell_verdict.h"
#include "harness/ab/executed_pair.h"

namespace perfbench::harness {

struct AbHooks {
  // Executes one side of a cell in a fresh process. A state of `cancelled` ends the comparison.
  std::function<SideRun(const AbCell& cell, Side side)> run;
  // Executes both sides in turns, of cells that are `in_turns`; `pair` has cell, number and first.
  std::function<void(const AbCell& cell, ExecutedPair& pair)> run_in_turns;
  std::function<void(const ExecutedPair& pair)> record;  // a pair that is complete; before the next one starts
  std::function<bool()> cancelled;                       // looked at between two runs
  // What is going on; all of them may be empty.
  std::function<void(const ExecutedPair& pair)> on_begin;  // `pair` has cell, number and first
  std::function<void(const ExecutedPair& pair, const std::vector<CellVerdict>& cells)> on_end;
};

struct AbResult {
  std::vector<ExecutedPair> pairs;  // by cell, then number; those given included
  std::vector<CellVerdict> cells;   // in the order of the cells
  bool cancelled = false;
};

// `done`: pairs of a comparison that was cut off, in the order executed. Verdicts are those after the last pair, with
// control of false discoveries over all of them.
AbResult run_pairs(const std::vector<AbCell>& cells, const AbRule& rule, std::uint64_t seed, const AbHooks& hooks,
                   std::vector<ExecutedPair> done = {});

}  // namespace perfbench::harness
