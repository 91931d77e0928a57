// The nights of each series: a row each, then what was found.
#pragma once

#include "harness/history/history.h"
#include "reports/document/document.h"

namespace perfbench::reports {

// JSON: {"metric", "series", "findings"}, with every night.
Document history_document(const harness::HistoryResult& result);

}  // namespace perfbench::reports
