// The launch files of Kubernetes: an indexed Job with a headless Service, or a JobSet. Include this in .cpp files of
// harness/launch only.
#pragma once

#include <string>

#include "harness/launch/launch_form.h"
#include "harness/launch/node_work.h"

namespace perfbench::harness {

// The label by which Kueue knows the queue of a job.
inline constexpr const char* kKueueQueue = "kueue.x-k8s.io/queue-name";

// The text with $$ for each $ that Kubernetes would expand in a command: it replaces $(NAME) and $$.
std::string without_expansion(const std::string& text);

// `request.form` is kubernetes or jobset. Throws InputError if the work needs variables and there is no Secret.
LaunchFile kubernetes_file(const NodeWork& work, const LaunchFileRequest& request, const std::string& image);

}  // namespace perfbench::harness
