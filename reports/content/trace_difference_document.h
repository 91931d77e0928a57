// Compares two traced runs: by parts of the step, and operation by operation.
#pragma once

#include <cstddef>

#include "harness/trace/attribution.h"
#include "harness/trace/step_alignment.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

inline constexpr std::size_t kOperationsShown = 12;

// The attribution (trace_document.h), then one step of each run: the delay of B at the end of each operation, both
// steps as lanes of one timeline, and the operations; for people the `most` with the largest differences.
Document trace_difference_document(const harness::Attribution& attribution, const harness::StepAlignment& alignment,
                                   std::size_t most = kOperationsShown);

}  // namespace perfbench::reports
