// Process runs of one side, or of both in turns: executes, watches and stores them.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/execute/attempt_execution.h"
#include "harness/pairs/instruction_counter.h"
#include "harness/pairs/sides.h"
#include "harness/records/executed_pair.h"
#include "harness/store/ledgers/comparison_ledger.h"
#include "harness/trace/attribution.h"

namespace perfbench::harness {

struct SideExecution {
  Connection* db = nullptr;
  ExecutionSettings settings = {};  // its engine is that of the side, its sweep is the comparison
  AbSide a = {};
  AbSide b = {};
  std::array<std::string, 2> engines_sha256 = {};  // of the two sides, as engine_sha256()
  InstructionCounter* instructions = nullptr;
};

// Throws InputError if the output of the side's engine cannot be understood, StoreError, RunDirectoryError. If
// `directory` is given, it receives the run's.
SideRun execute_side(const SideExecution& execution, const AbCell& cell, Side side,
                     std::filesystem::path* directory = nullptr);

// The step times of two runs that took turns, if both ended well.
struct StepsInTurns {
  std::vector<double> a_s;
  std::vector<double> b_s;
};

// Executes both runs of a pair in turns (turns.h) and stores the measurements of both sides in it. `seed` decides the
// order within each turn. If `steps` is given, it receives the times of all steps. Throws as execute_side, and
// std::system_error if a FIFO cannot be made.
void execute_in_turns(const SideExecution& execution, const AbCell& cell, std::uint64_t seed, ExecutedPair& pair,
                      StepsInTurns* steps = nullptr);

// Explains the difference of a cell: one more run of each side with traced steps, and their comparison.
struct TracedPair {
  std::optional<Attribution> attribution;
  std::string problem;  // why there is no trace
  bool cancelled = false;
};

// The runs are those of the cell with traced steps added. These are different runs, and their timed steps do not count
// in any comparison. They are stored with the others.
TracedPair trace_pair(const SideExecution& execution, const AbCell& cell);

}  // namespace perfbench::harness
