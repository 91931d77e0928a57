// The launchers, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/launch/job_launcher.h"

namespace perfbench::harness {

// Checks that the launcher's programs are there. Throws InputError.
std::unique_ptr<JobLauncher> make_launcher(const LaunchRequest& request);

// Parses "slurm", "slurm:gpu", "ssh:node1,node2", "podman" or "docker": one request for each place. Empty for "local".
// Throws InputError for anything else.
std::vector<LaunchRequest> parse_launcher(const std::string& words);

}  // namespace perfbench::harness
