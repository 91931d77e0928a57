// What a comparison shows while it runs: a line a pair, or one that is rewritten on a terminal, with the time left,
// should as many pairs be discarded as so far.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "harness/ab/cell_verdict.h"
#include "harness/run/progress.h"
#include "reports/format/escaped_text.h"

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

}  // namespace perfbench::harness
