// Whether the runs of a comparison's pairs can take turns (harness/ab/turns.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/ab/sides.h"
#include "harness/app/ab_options.h"
#include "harness/plan/planner.h"

namespace perfbench::harness {

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
