#include "reports/comparison_text.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/format/json_text.h"
#include "reports/format/number.h"
#include "reports/or_null.h"

namespace perfbench::reports {
namespace {

using harness::CellComparison;
using Json = nlohmann::ordered_json;

std::string numbers(const CellComparison& comparison) {
  auto out = fmt::format("{} {} vs {}", comparison.metric, format_number(comparison.current),
                         format_number(comparison.baseline));
  const auto& decision = comparison.decision;
  if (!decision.ratio) return out;
  out += ", " + format_percent_change(*decision.ratio);
  if (decision.ratio_95) {
    out += fmt::format(" (95 %: {} to {})", format_percent_change(decision.ratio_95->low),
                       format_percent_change(decision.ratio_95->high));
  }
  return out + fmt::format(", {} vs {} runs", decision.current_runs, decision.baseline_runs);
}

Json entry(const CellComparison& comparison) {
  const auto& decision = comparison.decision;
  Json out;
  out["cell"] = comparison.label;
  out["run_id"] = comparison.run_id;
  out["metric"] = comparison.metric;
  out["machine_fingerprint"] = comparison.machine.empty() ? Json() : Json(comparison.machine);
  out["verdict"] = spec::enum_name(decision.verdict);
  out["reason"] = spec::enum_name(decision.reason);
  out["detail"] = decision.detail;
  out["current"] = or_null(comparison.current);
  out["baseline"] = or_null(comparison.baseline);
  out["ratio"] = or_null(decision.ratio);
  out["ratio_low"] = decision.ratio_95 ? Json(decision.ratio_95->low) : Json();
  out["ratio_high"] = decision.ratio_95 ? Json(decision.ratio_95->high) : Json();
  out["p"] = or_null(decision.p);
  out["detectable_fraction"] = or_null(decision.detectable_fraction);
  out["current_runs"] = decision.current_runs;
  out["baseline_runs"] = decision.baseline_runs;
  out["sessions"] = decision.sessions ? Json(*decision.sessions) : Json();
  out["session_deviation_fraction"] =
      decision.session_deviation ? Json(std::expm1(*decision.session_deviation)) : Json();
  out["notes"] = comparison.notes;
  return out;
}

}  // namespace

Plain comparison_text(const std::vector<CellComparison>& comparisons, const std::string& baseline) {
  auto out = Plain::format("Compared with {}\n", baseline);
  for (const auto& comparison : comparisons) {
    out += Plain::format("\n{}  {}\n  {}\n", spec::enum_name(comparison.decision.verdict), comparison.label,
                         numbers(comparison));
    if (!comparison.decision.detail.empty()) {
      out += Plain::format("  {}: {}\n", spec::enum_name(comparison.decision.reason), comparison.decision.detail);
    }
    for (const auto& note : comparison.notes) out += Plain::format("  - {}\n", note);
  }
  return out;
}

std::string comparison_json(const std::vector<CellComparison>& comparisons, const std::string& baseline) {
  Json out;
  out["baseline"] = baseline;
  out["overall"] = spec::enum_name(harness::overall(harness::verdicts_of(comparisons)));
  out["cells"] = Json::array();
  for (const auto& comparison : comparisons) out["cells"].push_back(entry(comparison));
  return json_text(out, 2);
}

}  // namespace perfbench::reports
