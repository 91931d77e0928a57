// The facts that identify a training program on this machine: its commit, its files and its Python packages.
#pragma once

#include <filesystem>

#include "workloads/spec/program_spec.h"

namespace perfbench::harness {

// Adds to `program.facts` what can be found. `program` is to be started, so that its templates are filled in. `repo` is
// its checkout, or empty. Throws LaunchError if it runs in a container whose image is not on this machine.
void add_program_facts(spec::ProgramSpec& program, const std::filesystem::path& repo);

}  // namespace perfbench::harness
