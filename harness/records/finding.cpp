#include "harness/records/finding.h"

#include <cmath>

#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

double size_of(const Finding& finding) {
  return finding.ratio && *finding.ratio > 0 ? std::abs(std::log(*finding.ratio)) : 0;
}

bool is_bad(FindingKind kind) {
  return kind != FindingKind::improvement && kind != FindingKind::noisier;
}

FindingKind bad_kind_of(std::string_view metric) {
  const auto unit = spec::unit_of(metric);
  if (unit == "bytes") return FindingKind::memory;
  if (unit == "nats") return FindingKind::loss;
  return metric == "startup_time_s" ? FindingKind::startup : FindingKind::regression;
}

}  // namespace perfbench::harness
