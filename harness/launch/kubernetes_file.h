// The launch files of Kubernetes: an indexed Job with a headless Service, or a JobSet. Include this in .cpp files of
// harness/launch only.
#pragma once

#include <string>

#include "harness/launch/launch_form.h"
#include "harness/launch/node_work.h"

namespace perfbench::harness {

// `request.form` is kubernetes or jobset. Throws InputError if the work needs variables and there is no Secret.
LaunchFile kubernetes_file(const NodeWork& work, const LaunchFileRequest& request, const std::string& image);

}  // namespace perfbench::harness
