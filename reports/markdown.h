#pragma once

#include <string>

#include "reports/columns.h"
#include "reports/format/markdown_text.h"
#include "reports/report_model.h"

namespace perfbench::reports {

// A table for people. Notes on a row follow the table, numbered; equal notes share a number.
Markdown to_markdown(const Report& report, TableStyle style);

}  // namespace perfbench::reports
