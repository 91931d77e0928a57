// Where a cell's memory goes, and what the cell could be instead.
#pragma once

#include "harness/plan/explanation.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// Memory against the device's, the values that layers keep, the tensors alive at the peak, the alternatives with their
// costs; then the stages, FLOPs and collectives. Of a cell that was not counted: why not.
Document explanation_document(const harness::Explanation& explanation);

}  // namespace perfbench::reports
