// From stored attempts and comparisons to a report.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/compare/compare.h"
#include "reports/report_model.h"
#include "workloads/spec/hardware.h"

namespace perfbench::reports {

struct ReportRequest {
  std::string title;
  spec::FlopDefinition definition = spec::FlopDefinition::causal;
  std::string baseline;                                // its name, empty for none
  std::vector<harness::CellComparison> comparisons;    // at most one per run, in any order
  std::map<std::string, spec::HardwareSpec> hardware;  // of the names that the runs use, without "host"
};

Report build_report(const std::vector<harness::CellRuns>& cells, const ReportRequest& request);

// The peak of one device that a run's MFU is held against: of its named hardware, or on "host" the fp32 rate that the
// engine measured when the attempt began (of a rank's threads: a rank is a device). Nothing if it is not known.
std::optional<double> device_peak_flops_per_s(const harness::StoredAttempt& attempt,
                                              const std::map<std::string, spec::HardwareSpec>& hardware);

}  // namespace perfbench::reports
