#include "reports/alert_phrases.h"

#include <fmt/core.h>

#include <algorithm>

#include "reports/format/number.h"
#include "reports/format/quantity.h"

namespace perfbench::reports {
namespace {

constexpr std::size_t kShownRevisionDigits = 12;
constexpr std::size_t kShownParts = 3;

std::string range_of(const std::string& good, const std::string& bad) {
  if (good.empty() || bad.empty()) return kNothing;
  return good.substr(0, kShownRevisionDigits) + ".." + bad.substr(0, kShownRevisionDigits);
}

}  // namespace

std::string change_text(const harness::Finding& finding) {
  if (!finding.ratio) return kNothing;
  auto out = format_percent_change(*finding.ratio);
  if (finding.ratio_low && finding.ratio_high) {
    out += fmt::format(" (95 %: {} to {})", format_percent_change(*finding.ratio_low),
                       format_percent_change(*finding.ratio_high));
  }
  return out;
}

std::string subject_text(const harness::Finding& finding) {
  const auto& series = finding.series;
  const auto where = series.matrix + ", " + series.cell;
  if (finding.kind == harness::FindingKind::vanished_cell) return "vanished cell: " + where;
  return fmt::format("{} of {} in {}", spec::enum_name(finding.kind), series.metric, where);
}

std::string range_text(const harness::Finding& finding) {
  return range_of(finding.last_good.revision, finding.first_bad.revision);
}

std::string range_text(const harness::AlertGroup& group) {
  return range_of(group.good_revision, group.bad_revision);
}

std::string facts_text(const harness::Finding& finding) {
  std::string out;
  for (const auto& fact : finding.environment) {
    out += (out.empty() ? "" : "; ") + fact.field + " " + fact.left + " -> " + fact.right;
  }
  return out;
}

std::string attribution_text(const harness::Finding& finding) {
  std::string out;
  const auto shown = std::min(kShownParts, finding.attribution.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& line = finding.attribution[i];
    out += fmt::format("{}{} {} ({})", i == 0 ? "" : ", ", line.name, human_time_change(line.ns),
                       format_percent(line.share));
  }
  return out;
}

}  // namespace perfbench::reports
