// A planned cell in words: the phrases that every table of a plan shares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/plan/planner.h"

namespace perfbench::reports {

std::string label_of(const harness::PlannedCell& planned);  // "(defaults)" of the cell of a matrix without axes
std::string count_text(std::int64_t count);                 // "405 G"
// What a device sends in a step, by mesh axes: "fsdp 1.50 GiB, tp 20.0 MiB"; kNothing where it sends nothing.
std::string traffic_text(const std::vector<spec::AxisTraffic>& traffic);

}  // namespace perfbench::reports
