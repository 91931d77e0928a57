// One run, or two side by side, as documents: what `perfbench show` and `perfbench diff` print.
#pragma once

#include "harness/app/runs/run_view.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// Tables run (one row), attempts, metrics, tensors at the peak of memory, configuration, environment and what of it
// differs from a baseline's, tags and notes; and the command that repeats the run.
Document run_document(const harness::RunView& view);

// Tables runs (two rows), configuration, environment and metrics, of what differs; metrics all. No verdict.
Document difference_document(const harness::RunDifference& difference);

}  // namespace perfbench::reports
