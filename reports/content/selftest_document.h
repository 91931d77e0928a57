// Measured error rates as tables.
#pragma once

#include <string>
#include <vector>

#include "harness/records/selftest_result.h"
#include "reports/render/document/document.h"

namespace perfbench::reports {

// For people a table for each kind of measurement, for programs one table of all; then the number of goals that were
// met.
Document selftest_document(const std::string& title, const std::vector<harness::SelftestResult>& results);

}  // namespace perfbench::reports
