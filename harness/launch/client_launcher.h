// Launchers whose job lives as long as a client process here: ssh, and podman or docker. If the harness is killed, its
// warden ends the client, and with it the job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/launch/job_launcher.h"

namespace perfbench::harness {

// A host by its name in the user's configuration of ssh. The host must see the run directories and perfbench under the
// same paths, and must let the user in without a question. Throws InputError if ssh is missing, or the name is an
// option.
std::unique_ptr<JobLauncher> ssh_launcher(const LaunchRequest& request);

// A container of an image that has perfbench in its PATH. The run directories keep their paths inside. Throws
// InputError if the runtime or the image is missing.
std::unique_ptr<JobLauncher> container_launcher(const LaunchRequest& request);

// The command of the ssh client. Throws InputError if a word of `worker` means something to a shell: sshd gives the
// words to one.
std::vector<std::string> ssh_command(const std::string& host, const std::vector<std::string>& worker);

}  // namespace perfbench::harness
