// Process runs of a side or of both in turns: executed, watched, taken into the store.
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
  ExecutionSettings settings = {};  // its engine is that of the side; its sweep is the comparison
  AbSide a = {};
  AbSide b = {};
  std::array<std::string, 2> engines_sha256 = {};  // of the sides, as engine_sha256()
  InstructionCounter* instructions = nullptr;
};

// Throws InputError when what the side's engine wrote cannot be understood, StoreError, RunDirectoryError. `directory`
// gets the run's, where it is wanted.
SideRun execute_side(const SideExecution& execution, const AbCell& cell, Side side,
                     std::filesystem::path* directory = nullptr);

// Times of the steps of two runs that took turns, where both ended well.
struct StepsInTurns {
  std::vector<double> a_s;
  std::vector<double> b_s;
};

// Both runs of a pair, taking turns (turns.h): sets what it measured of either side. `seed` is that of the order within
// each turn. `steps` gets the times of all steps, where they are wanted. Throws as execute_side, and std::system_error
// where a FIFO cannot be made.
void execute_in_turns(const SideExecution& execution, const AbCell& cell, std::uint64_t seed, ExecutedPair& pair,
                      StepsInTurns* steps = nullptr);

// Where the difference of a cell is: one more run of each side, with traced steps, held against each other.
struct TracedPair {
  std::optional<Attribution> attribution;
  std::string problem;  // why there is none
  bool cancelled = false;
};

// The runs are those of the cell with traced steps added: other runs, whose timed steps are of no comparison. They are
// stored beside the others.
TracedPair trace_pair(const SideExecution& execution, const AbCell& cell);

}  // namespace perfbench::harness
