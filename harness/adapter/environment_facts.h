// env.json of a program's run.
#pragma once

#include "workloads/spec/environment.h"
#include "workloads/spec/program_spec.h"

namespace perfbench::adapter {

// The node, and what the harness found out about the program (ProgramSpec::facts) as its libraries. No value of an
// environment variable is among them. The peak is not measured: it is that of perfbench-engine's kernels.
spec::EnvironmentRecord environment_facts(const spec::ProgramSpec& program);

}  // namespace perfbench::adapter
