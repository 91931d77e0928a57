// The nights of each series: a line each, then what was found.
#pragma once

#include <string>

#include "harness/history/history.h"
#include "reports/format/markdown_text.h"

namespace perfbench::reports {

Markdown history_markdown(const harness::HistoryResult& result);
std::string history_csv(const harness::HistoryResult& result);   // one line a series
std::string history_json(const harness::HistoryResult& result);  // with every night

}  // namespace perfbench::reports
