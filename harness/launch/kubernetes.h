// Kubernetes as a launcher: a session is a Job with one pod, made, watched and deleted by kubectl.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/launch/job_launcher.h"

namespace perfbench::harness {

// The variable in which a pod finds the name of its node.
inline constexpr const char* kNodeVariable = "PERFBENCH_NODE";

// Throws InputError if there is no kubectl, image or volume.
std::unique_ptr<JobLauncher> kubernetes_launcher(const LaunchRequest& request);

// The JSON of a session's Job. Its pod mounts the volume where this machine has it, runs as this process's user, and
// shares its node with no other session. Throws LaunchError if the session's folder is outside of the volume.
std::string kubernetes_job(const JobRequest& job, const LaunchRequest& request);

// Parses the output of `kubectl get jobs,pods --output=json` about one session.
JobView parse_kubernetes_job(std::string_view list);

}  // namespace perfbench::harness
