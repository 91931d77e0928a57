// One run, or two side by side, as documents: printed by `perfbench show` and `perfbench diff`.
#pragma once

#include "harness/app/runs/run_view.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// Tables of the run (one row), attempts, metrics, tensors at the peak of memory, configuration, environment with its
// differences from a baseline's, tags and notes; and the command that repeats the run.
Document run_document(const harness::RunView& view);

// Tables of the runs (two rows), of the differences in configuration and environment, and of all metrics. No verdict.
Document difference_document(const harness::RunDifference& difference);

}  // namespace perfbench::reports
