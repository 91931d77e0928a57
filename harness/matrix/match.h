// Whether a rule or --only selects a cell. Include this in .cpp files only, because it needs the JSON library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/matrix/matrix_parts.h"
#include "harness/matrix/resolve.h"

namespace perfbench::harness {

// `*` matches any number of characters. The time is proportional to the length of the text times that of the pattern.
bool glob_matches(std::string_view pattern, std::string_view text);

// Labels of a cell's axes: name and value.
using AxisLabels = std::vector<std::pair<std::string, std::string>>;

// Whether all conditions are met. A condition on an axis is met if the value's label matches, or the value of the
// axis's field.
bool matches(const When& when, const AxisLabels& labels, const Resolved& cell);

}  // namespace perfbench::harness
