// The comparison in pairs that decides what stored runs cannot.
#pragma once

#include <string>

#include "harness/judge/cell_runs.h"

namespace perfbench::harness {

// "perfbench compare --ab 5a3c... current matrices/llama.yaml --only model=llama-tiny --only fsdp=2", for a person to
// read, mend and paste: words that a shell would not take as they are stand in single quotes, and nothing executes it.
// Sides are the commits that the engines of the newest runs tell; without one, or with one of a changed tree, the
// current side is `current` and the baseline's BASELINE_ENGINE, to be filled in. Sides that are not the same run differ
// in settings: the baseline is set:KEY=VALUE,... then, and so it stands where a setting cannot say the difference. The
// matrix is taken for that file of matrices/ which bears its name, as all of perfbench's own do; what `sweep --set` set
// is not in it. `baseline` is null where the baseline is numbers.
std::string pairs_command(const CellRuns& cell, const CellRuns* baseline);

}  // namespace perfbench::harness
