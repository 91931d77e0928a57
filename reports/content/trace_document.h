// Where a difference of step time comes from, for people and for programs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/trace/attribution.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// The `most` largest shares of the difference, one line each: "+1.24 ms backward matmul, of +2 ms between the traced
// steps". The traced steps are other ones than those a verdict is about, so that their difference stands beside it.
// Shares that did not change have none.
std::vector<std::string> largest_differences(const harness::Attribution& attribution, std::size_t most);

// From A's step to B's, one difference on the other: the `most` largest shares, the rest as one, the last one ends
// where B is.
Chart attribution_chart(const harness::Attribution& attribution, std::size_t most);

// For people the `most` largest shares, the rest as one row, and the whole step; for programs every share.
Document attribution_document(const harness::Attribution& attribution, std::size_t most);
// Every share.
std::string attribution_json(const harness::Attribution& attribution);

// Where the time of each traced step went.
// A row per rank and step: for people the parts in percent of the step, for programs every field of TraceSummary in
// nanoseconds. Then what to know about them.
Document trace_document(const std::vector<harness::RankTrace>& traces);

}  // namespace perfbench::reports
