// The comparison in pairs that can decide where stored runs cannot.
#pragma once

#include <string>

#include "harness/judge/cell_runs.h"

namespace perfbench::harness {

// "perfbench compare --ab 5a3c... current matrices/llama.yaml --only model=llama-tiny --only fsdp=2", for a user to
// read, edit and paste. Words that a shell would interpret are in single quotes, and nothing executes the command. The
// sides are the commits that the engines of the newest runs report. Without a commit, or with a modified tree, the
// current side is `current`, and the baseline's side is the placeholder BASELINE_ENGINE. If the sides are different
// runs, they differ in settings: the baseline is then set:KEY=VALUE,..., literally if no setting can express the
// difference. The matrix is assumed to be the file in matrices/ with its name, as all of perfbench's own are; settings
// of `sweep --set` are not included. `baseline` is null if it consists of numbers.
std::string pairs_command(const CellRuns& cell, const CellRuns* baseline);

}  // namespace perfbench::harness
