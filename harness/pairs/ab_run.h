// What a comparison shows while it runs: a line a pair, or one that is rewritten on a terminal, with the time left,
// should as many pairs be discarded as so far.
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
  std::size_t to_next_look = 0;  // of all open cells, should no pair be discarded
  std::size_t at_most = 0;       // should no cell be decided early
};

PairsLeft pairs_left(const std::vector<CellVerdict>& cells, const std::vector<std::size_t>& looks);

// What it takes to have one pair that counts, as many having been executed and kept so far: 1 without a discarded one.
double executions_a_pair(std::size_t executed, std::size_t kept);

class AbProgress {
 public:
  AbProgress(std::FILE* out, SweepProgress::Style style, std::vector<std::size_t> looks);

  void set_looks(std::vector<std::size_t> looks) { looks_ = std::move(looks); }
  void begin(const ExecutedPair& pair, const std::string& label, std::size_t cells);
  void end(const ExecutedPair& pair, const std::vector<CellVerdict>& cells);
  void say(const reports::Plain& text);  // a line that stays

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

// Executes the pairs of a comparison: round after round over all cells that are still open, so that a slow drift of the
// machine hits all of them alike, and within a pair in a random order (harness/stats/pairs.h). What a run is, where it
// is kept and what is shown are the caller's.
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
