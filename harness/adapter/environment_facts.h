// env.json of a program's run.
#pragma once

#include "workloads/spec/environment.h"
#include "workloads/spec/program_spec.h"

namespace perfbench::adapter {

// Facts of the node and, as its libraries, the facts that the harness found about the program (ProgramSpec::facts). It
// contains no values of environment variables. The peak is not measured; it is the peak of perfbench-engine's kernels.
spec::EnvironmentRecord environment_facts(const spec::ProgramSpec& program);

}  // namespace perfbench::adapter
