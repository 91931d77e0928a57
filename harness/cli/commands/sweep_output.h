// The final output of commands that run a matrix.
#pragma once

#include "harness/app/sweep/sweep_matrix.h"
#include "harness/cli/commands/commands.h"

namespace perfbench::harness {

// Prints the table of the sweep, the number of attempts by result, and where the results are.
ExitCode print_sweep(const SweepSummary& summary, const SweepRequest& request, SweepStore& store,
                     const CommandContext& context);

}  // namespace perfbench::harness
