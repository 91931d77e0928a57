#include "reports/plan_phrases.h"

#include <fmt/core.h>

#include <map>

#include "reports/format/number.h"
#include "reports/format/quantity.h"

namespace perfbench::reports {

std::string label_of(const harness::PlannedCell& planned) {
  return harness::shown_label(planned.cell.label);
}

std::string count_text(std::int64_t count) {
  return human_count(static_cast<double>(count));
}

std::string traffic_text(const std::vector<spec::AxisTraffic>& traffic) {
  std::map<std::string, std::int64_t> sent;
  for (const auto& entry : traffic) sent[entry.axis] += entry.sent_bytes;
  std::string out;
  for (const auto& [axis, bytes] : sent) {
    if (bytes > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", axis, human_bytes(bytes));
  }
  return out.empty() ? kNothing : out;
}

}  // namespace perfbench::reports
