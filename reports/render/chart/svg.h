// A drawing as a file of its own.
#pragma once

#include <string>
#include <vector>

#include "reports/render/chart/scene.h"

namespace perfbench::reports {

// SVG 1.1: the drawings below each other, each with its title above, in the colours of a light page, on white. Contains
// no script and makes no requests. Equal scenes give equal bytes.
std::string svg(const std::vector<Scene>& scenes);

}  // namespace perfbench::reports
