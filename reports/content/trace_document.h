// The causes of a difference in step time, for people and for programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/trace/attribution.h"
#include "reports/render/document/document.h"
#include "workloads/spec/mesh_spec.h"

namespace perfbench::reports {

// The `most` largest shares of the difference, one line each: "+1.24 ms backward matmul, of +2 ms between the traced
// steps". A verdict is about other steps than the traced ones, so the line also gives the difference of the traced
// steps. Shares that did not change are left out.
std::vector<std::string> largest_differences(const harness::Attribution& attribution, std::size_t most);

// From A's step to B's, with stacked differences: the `most` largest shares, then the rest as one. The last one ends at
// B.
Chart attribution_chart(const harness::Attribution& attribution, std::size_t most);

// For people the `most` largest shares, the rest as one row, and the whole step; for programs every share.
Document attribution_document(const harness::Attribution& attribution, std::size_t most);
// Every share.
std::string attribution_json(const harness::Attribution& attribution);

// How the time of each traced step was spent. A row for each rank and step: for people the parts in percent of the
// step, for programs every field of TraceSummary in nanoseconds. Then notes about them, and the critical path of the
// first step. `mesh` is that of the run, if it is known; several ranks have no critical path without it.
Document trace_document(const std::vector<harness::RankTrace>& traces,
                        const std::optional<spec::MeshSpec>& mesh = std::nullopt);

}  // namespace perfbench::reports
