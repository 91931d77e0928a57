// The difference that people care about (--detect), looked for in pairs that are planned for it: two pilot pairs of
// each cell, then pairs and turns (harness/stats/detection.h), or a refusal that says how long it would take.
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
  std::size_t pairs = 0;  // of each cell, at most: the last look
  bool cancelled = false;
};

// Executes the pilot pairs, whose attempts are those of the comparison and whose pairs are none of it. Each cell gets
// the steps that its plan asks for, and the plan as a note; or the reason why it is not planned. A cell of which a
// pilot run fails keeps its steps: its pairs say that a side fails. Throws as execute_in_turns.
PlannedCells plan_pairs(std::vector<AbCell>& cells, const Detection& asked, const SideExecution& execution,
                        std::uint64_t seed, AbProgress& progress, Interruption& interruption);

// What the pilots of cells, in their order, leave to be run: sets `run` of the sides, `plan` and `not_planned`. Cells
// without a pilot are passed over. `spent_s` is what the pilot pairs took. Returns the pairs of each cell.
std::size_t apply_pilots(std::vector<AbCell>& cells, const std::vector<std::optional<Pilot>>& pilots,
                         const Detection& asked, double spent_s);

// Whether the runs of a comparison's pairs can take turns (harness/pairs/turns.h).
// Of all ranks of one cell of one side, on this machine.
struct CellMemory {
  std::int64_t needed_bytes = 0;
  std::int64_t available_bytes = 0;  // 0: unknown
};

using SidesMemory = std::array<std::vector<CellMemory>, 2>;  // by side and cell

CellMemory memory_of(const PlannedCell& planned);

// Why the runs of a cell cannot take turns, whatever the engines know; empty: they can. A run that works between its
// steps would do so in the other one's.
std::string why_apart(const AbCell& cell, const CellMemory& a, const CellMemory& b);

// Sets in_turns, or apart_because, of every cell. Throws InputError where turns were asked for and cannot be,
// LaunchError and Cancelled.
void choose_pairing(std::vector<AbCell>& cells, const AbSide& a, const AbSide& b, Pairing pairing,
                    const SidesMemory& memory, int cancel_fd);

}  // namespace perfbench::harness
