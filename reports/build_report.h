// From stored attempts and comparisons to a report.
#pragma once

#include <string>
#include <vector>

#include "harness/compare/compare.h"
#include "harness/compare/device_peak.h"
#include "reports/report_model.h"

namespace perfbench::reports {

struct ReportRequest {
  std::string title;
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
  std::string baseline;                              // its name, empty for none
  std::vector<harness::CellComparison> comparisons;  // at most one per run, in any order
  harness::HardwareByName hardware;                  // of the names that the runs use, without "host"
};

Report build_report(const std::vector<harness::CellRuns>& cells, const ReportRequest& request);

}  // namespace perfbench::reports
