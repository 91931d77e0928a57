// The nights of each series: a row each, then what was found.
#pragma once

#include <memory>

#include "harness/history/history.h"
#include "reports/document/document.h"

namespace perfbench::reports {

// JSON: {"metric", "series", "findings"}, with every night; the document holds the result for it.
Document history_document(const std::shared_ptr<const harness::HistoryResult>& result);

}  // namespace perfbench::reports
