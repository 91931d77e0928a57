// Looks for a difference of a requested size (--detect) in pairs that are planned for it: two pilot pairs of each cell,
// then pairs and turns (harness/stats/detection.h), or a refusal that says how long it would take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/app/pairs/ab_options.h"
#include "harness/pairs/side_execution.h"
#include "harness/pairs/sides.h"
#include "harness/plan/planner.h"
#include "harness/stats/detection.h"

namespace perfbench::harness {

class AbProgress;
class Interruption;

struct PlannedCells {
  std::size_t pairs = 0;  // of each cell, at most: the pairs of the last look
  bool cancelled = false;
};

// Executes the pilot pairs, whose attempts belong to the comparison but whose pairs do not count in it. Each cell gets
// the number of steps of its plan, and the plan as a note, or else the reason why it has no plan. A cell whose pilot
// run fails keeps its steps: its pairs will show that a side fails. Throws as execute_in_turns.
PlannedCells plan_pairs(std::vector<AbCell>& cells, const Detection& asked, const SideExecution& execution,
                        std::uint64_t seed, AbProgress& progress, Interruption& interruption);

// Applies the results of the pilots, which are in the order of the cells: sets `run` of the sides, `plan` and
// `not_planned`. Skips cells without a pilot. `spent_s` is the time that the pilot pairs took. Returns the number of
// pairs of each cell.
std::size_t apply_pilots(std::vector<AbCell>& cells, const std::vector<std::optional<Pilot>>& pilots,
                         const Detection& asked, double spent_s);

// Whether the runs of a comparison's pairs can take turns (harness/pairs/turns.h). CellMemory is for all ranks of one
// cell of one side, on this machine.
struct CellMemory {
  std::int64_t needed_bytes = 0;
  std::int64_t available_bytes = 0;  // 0: unknown
};

using SidesMemory = std::array<std::vector<CellMemory>, 2>;  // by side and cell

CellMemory memory_of(const PlannedCell& planned);

// Why the runs of a cell cannot take turns, apart from what the engines support; empty if they can. A run that works
// between its steps would do so during the other one's.
std::string why_apart(const AbCell& cell, const CellMemory& a, const CellMemory& b);

// Sets in_turns, or apart_because, of every cell. Throws InputError if turns were requested and are impossible,
// LaunchError and Cancelled.
void choose_pairing(std::vector<AbCell>& cells, const AbSide& a, const AbSide& b, Pairing pairing,
                    const SidesMemory& memory, int cancel_fd);

}  // namespace perfbench::harness
