#pragma once

namespace perfbench::reports {

// Of a column: text begins at one edge, numbers end at one.
enum class Align { left, right };

}  // namespace perfbench::reports
