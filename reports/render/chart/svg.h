// A drawing as a file of its own.
#pragma once

#include <string>
#include <vector>

#include "reports/render/chart/scene.h"

namespace perfbench::reports {

// SVG 1.1, one drawing under the other with its title above, in the colours of a light page, on white: without script,
// without a request to anywhere. Equal scenes give equal bytes.
std::string svg(const std::vector<Scene>& scenes);

}  // namespace perfbench::reports
