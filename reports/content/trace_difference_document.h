// Two traced runs beside each other: which parts of the step differ, and operation by operation.
#pragma once

#include <cstddef>

#include "harness/trace/attribution.h"
#include "harness/trace/step_alignment.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

inline constexpr std::size_t kOperationsShown = 12;

// The attribution (trace_document.h), then a step of each: by how much B is behind A whenever an operation ends,
// both as lanes of one timeline, and the operations, for people the `most` that differ most.
Document trace_difference_document(const harness::Attribution& attribution, const harness::StepAlignment& alignment,
                                   std::size_t most = kOperationsShown);

}  // namespace perfbench::reports
