// The nights of each series as a table and as charts (history_charts.h).
#pragma once

#include <memory>

#include "harness/app/night/history.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// The nights of each series, one row each, then the findings. JSON: {"metric", "series", "findings"} with every night;
// the document keeps the result for it.
Document history_document(const std::shared_ptr<const harness::HistoryResult>& result);

}  // namespace perfbench::reports
