// The shell script that a launch file runs on a node. Include this in .cpp files of harness/launch only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/launch/node_work.h"

namespace perfbench::harness {

// How a variable of the shell is written between other text.
enum class Variables {
  quoted,  // "${RUN_DIR}"
  bare,    // ${RUN_DIR}, for a script that must not have double quotes; the value has no spaces then
};

// One line for each command. They expect RUN_DIR, NODE_RANK and, with several nodes, COORDINATOR in the environment.
// Values of the work are in single quotes, so that no shell reads them.
std::vector<std::string> node_script(const NodeWork& work, Variables variables);

// The remarks of the work as comments of a script or of YAML, one line each, whatever a matrix is called.
std::string remark_lines(const NodeWork& work);

// A line that is no line of `text`, for the end of a here document.
std::string end_of_text(std::string_view text);

}  // namespace perfbench::harness
