// Runs a training program in a container of podman or docker (ProgramContainer).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/spec/program_spec.h"

namespace perfbench::harness {

// The id of an image that podman or docker has on this machine. Throws LaunchError if it has none, or the runtime is
// missing: a pull would be part of the first measurement.
std::string image_id(const std::string& runtime, const std::string& image);

// Adds the id of the image as a fact. It identifies everything that the image holds. Throws as image_id().
void add_image_fact(spec::ProgramSpec& program);

// The words that start the container, before those of the command. The run directory and the working directory keep
// their paths inside. Variables are passed by name, so that no value of them is in a process list.
std::vector<std::string> container_command(const spec::ProgramSpec& program, const std::string& run_dir,
                                           const std::string& name);

// Puts these words before the command. `program` is to be started, so that its templates are filled in. Throws
// LaunchError if the runtime is missing.
void enter_container(spec::ProgramSpec& program, const std::filesystem::path& run_dir);

// The command that removes the container of this run directory and ends what still runs in it. The client of a runtime
// can be killed without ending its container. Empty if the program has none.
std::vector<std::string> container_removal(const spec::ProgramSpec& program, const std::filesystem::path& run_dir);

}  // namespace perfbench::harness
