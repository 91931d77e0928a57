// Whether a cell is one that a rule or --only means. Include in .cpp files only: it pulls in the JSON library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/matrix/matrix_parts.h"
#include "harness/matrix/resolve.h"

namespace perfbench::harness {

// `*` stands for any run of characters. Time is linear in text times pattern.
bool glob_matches(std::string_view pattern, std::string_view text);

// Labels of a cell's axes: name and value.
using AxisLabels = std::vector<std::pair<std::string, std::string>>;

// All conditions hold. A condition on an axis holds for the value's label and for the value of the axis's field.
bool matches(const When& when, const AxisLabels& labels, const Resolved& cell);

}  // namespace perfbench::harness
