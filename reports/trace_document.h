// Where the time of each traced step went.
#pragma once

#include <vector>

#include "harness/evidence/trace_file.h"
#include "reports/document/document.h"

namespace perfbench::reports {

// A row per rank and step: for people the parts in percent of the step, for programs every field of TraceSummary in
// nanoseconds. Then what to know about them.
Document trace_document(const std::vector<harness::RankTrace>& traces);

}  // namespace perfbench::reports
