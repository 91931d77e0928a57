#include "reports/content/headline.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/matrix/matrix.h"
#include "reports/content/cells.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::Verdict;

std::size_t cells_in(const std::vector<Judged>& judged, std::optional<Verdict> verdict) {
  std::set<std::string> cells;
  for (const auto& one : judged) {
    if (!verdict || one.verdict == *verdict) cells.insert(one.cell);
  }
  return cells.size();
}

// The largest change among those with this verdict. nullptr if none has a ratio.
const Judged* largest_change(const std::vector<Judged>& judged, Verdict verdict) {
  const Judged* out = nullptr;
  for (const auto& one : judged) {
    if (one.verdict != verdict || !one.ratio || *one.ratio <= 0) continue;
    if (out == nullptr || std::abs(std::log(*one.ratio)) > std::abs(std::log(*out->ratio))) out = &one;
  }
  return out;
}

std::string largest_change_text(const std::vector<Judged>& judged, Verdict verdict, const char* word) {
  const auto* one = largest_change(judged, verdict);
  if (one == nullptr) return {};
  auto text = fmt::format(", {} {}, {} of {}", word, change_text(one->ratio, one->ratio_low, one->ratio_high),
                          one->metric, harness::shown_label(one->cell));
  return one->since.empty() ? text : text + ", since " + one->since;
}

}  // namespace

std::string change_text(const std::optional<double>& ratio, const std::optional<double>& low,
                        const std::optional<double>& high) {
  if (!ratio) return {};
  auto text = format_percent_change(*ratio);
  if (low && high) text += fmt::format(" (95 %: {} to {})", format_percent_change(*low), format_percent_change(*high));
  return text;
}

Judged judged(const std::string& cell, const std::string& metric, const harness::Decision& decision) {
  Judged out{.cell = cell, .metric = metric, .verdict = decision.verdict, .ratio = decision.ratio};
  if (decision.ratio_95) {
    out.ratio_low = decision.ratio_95->low;
    out.ratio_high = decision.ratio_95->high;
  }
  return out;
}

Paragraph headline(Verdict overall, const std::vector<Judged>& judged) {
  const auto all = cells_in(judged, std::nullopt);
  const auto of_verdict = cells_in(judged, overall);
  auto text = std::string(spec::enum_name(overall));
  if (of_verdict > 0) text += fmt::format(": {} of {} cell{}", of_verdict, all, all == 1 ? "" : "s");
  if (overall == Verdict::regressed) text += largest_change_text(judged, overall, "worst");
  if (overall == Verdict::improved) text += largest_change_text(judged, overall, "best");
  return {.text = text, .tone = tone_of(overall)};
}

}  // namespace perfbench::reports
