#include "reports/plan_charts.h"

#include <cstdint>
#include <string>
#include <utility>

namespace perfbench::reports {
namespace {

using harness::PlannedCell;

double gibibytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0);
}

class NeedChart {
 public:
  NeedChart(const char* key, const char* title, const char* of)
      : chart_{.key = key,
               .title = title,
               .x = {.title = of},
               .y = {.title = "GiB", .from_zero = true},
               .series = {{.name = "needed", .marks = Marks::bars, .points = {}},
                          {.name = "a device has", .marks = Marks::points, .points = {}}}} {}

  void add(std::string name, std::int64_t needed, std::int64_t available) {
    const auto x = static_cast<double>(chart_.x.categories.size());
    chart_.x.categories.push_back(std::move(name));
    chart_.series[0].points.push_back({.x = x, .y = gibibytes(needed)});
    if (available > 0) chart_.series[1].points.push_back({.x = x, .y = gibibytes(available)});
  }

  Chart chart() {
    if (chart_.series[1].points.empty()) chart_.series.pop_back();
    return std::move(chart_);
  }

 private:
  Chart chart_;
};

}  // namespace

Chart plan_chart(const std::vector<PlannedCell>& plan) {
  NeedChart out("memory", "Memory of a device", "cell");
  for (const auto& planned : plan) {
    if (!planned.counts || planned.memory_needed_bytes == 0) continue;
    out.add(planned.cell.label, planned.memory_needed_bytes, planned.memory_available_bytes);
  }
  return out.chart();
}

Chart stages_chart(const PlannedCell& planned) {
  NeedChart out("stages", "Memory of a device, by stage of the pipeline", "stage");
  const auto& counts = *planned.counts;
  if (counts.stages.empty()) out.add("all", planned.memory_needed_bytes, planned.memory_available_bytes);
  for (const auto& stage : counts.stages) {
    out.add(std::to_string(stage.stage), spec::needed_bytes(stage), planned.memory_available_bytes);
  }
  return out.chart();
}

}  // namespace perfbench::reports
