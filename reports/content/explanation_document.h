// The memory of a cell, and alternatives to the cell.
#pragma once

#include "harness/plan/explanation.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// Memory in comparison with the device's, the values that layers keep, the tensors in use at the peak, and the
// alternatives with their costs; then the stages, FLOPs and collectives. For a cell that was not counted: the reason.
Document explanation_document(const harness::Explanation& explanation);

}  // namespace perfbench::reports
