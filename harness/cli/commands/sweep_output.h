// What commands that run a matrix print at their end.
#pragma once

#include "harness/app/sweep/sweep_matrix.h"
#include "harness/cli/commands/commands.h"

namespace perfbench::harness {

// Prints the table of the sweep, how many attempts ended how, and where the results are.
ExitCode print_sweep(const SweepSummary& summary, const SweepRequest& request, SweepStore& store,
                     const CommandContext& context);

}  // namespace perfbench::harness
