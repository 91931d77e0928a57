#include "reports/content/headline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "harness/matrix/matrix.h"
#include "reports/content/cells.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::Verdict;

constexpr std::array kWorstFirst{Verdict::regressed, Verdict::inconclusive, Verdict::not_comparable, Verdict::improved,
                                 Verdict::same};

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

ChangeTexts change_texts(const std::optional<double>& ratio, const std::optional<double>& low,
                         const std::optional<double>& high) {
  ChangeTexts out;
  const bool has_interval = low && high;
  const int decimals = has_interval ? decimals_of_change(*low, *high) : 1;
  if (ratio) out.change = format_percent_change(*ratio, decimals);
  if (has_interval) {
    out.interval = format_percent_change(*low, decimals) + " to " + format_percent_change(*high, decimals);
  }
  return out;
}

ChangeTexts change_texts(const harness::Decision& decision) {
  const auto& interval = decision.ratio_95;
  if (!interval) return change_texts(decision.ratio, {}, {});
  return change_texts(decision.ratio, interval->low, interval->high);
}

std::string change_text(const std::optional<double>& ratio, const std::optional<double>& low,
                        const std::optional<double>& high) {
  if (!ratio) return {};
  const auto texts = change_texts(ratio, low, high);
  return texts.interval == kNothing ? texts.change : fmt::format("{} (95 %: {})", texts.change, texts.interval);
}

Judged judged(const std::string& cell, const std::string& metric, const harness::Decision& decision) {
  Judged out{.cell = cell, .metric = metric, .verdict = decision.verdict, .ratio = decision.ratio};
  if (decision.ratio_95) {
    out.ratio_low = decision.ratio_95->low;
    out.ratio_high = decision.ratio_95->high;
  }
  return out;
}

Headline headline(Verdict overall, const std::vector<Judged>& judged) {
  const auto all = cells_in(judged, std::nullopt);
  const auto of_verdict = cells_in(judged, overall);
  auto text = std::string(spec::enum_name(overall));
  if (of_verdict > 0) text += fmt::format(": {} of {} cell{}", of_verdict, all, all == 1 ? "" : "s");
  if (overall == Verdict::regressed) text += largest_change_text(judged, overall, "worst");
  if (overall == Verdict::improved) text += largest_change_text(judged, overall, "best");
  return {.text = text, .tone = tone_of(overall)};
}

std::optional<Card> largest_change_card(const std::vector<Judged>& judged) {
  for (const auto verdict : {Verdict::regressed, Verdict::improved}) {
    const auto* largest = largest_change(judged, verdict);
    if (largest == nullptr) continue;
    const auto texts = change_texts(largest->ratio, largest->ratio_low, largest->ratio_high);
    auto detail = fmt::format("{} of {}", largest->metric, harness::shown_label(largest->cell));
    if (texts.interval != kNothing) detail = texts.interval + ", " + detail;
    return Card{.title = verdict == Verdict::regressed ? "worst change" : "best change",
                .value = texts.change,
                .detail = std::move(detail),
                .tone = tone_of(verdict)};
  }
  return std::nullopt;
}

Cards verdict_cards(const std::vector<Judged>& judged) {
  Cards out;
  const auto all = cells_in(judged, std::nullopt);
  std::map<std::string, Verdict> worst;  // of each cell
  for (const auto& one : judged) {
    const auto [found, is_new] = worst.try_emplace(one.cell, one.verdict);
    if (!is_new) found->second = harness::overall({found->second, one.verdict});
  }
  for (const auto verdict : kWorstFirst) {
    const auto cells =
        std::count_if(worst.begin(), worst.end(), [&](const auto& one) { return one.second == verdict; });
    if (cells == 0) continue;
    out.cards.push_back({.title = std::string(spec::enum_name(verdict)),
                         .value = fmt::format("{} of {}", cells, all),
                         .detail = all == 1 ? "cell" : "cells",
                         .tone = tone_of(verdict)});
  }
  if (auto largest = largest_change_card(judged)) out.cards.push_back(std::move(*largest));
  return out;
}

namespace {

// Those with a ratio, the most important ones.
std::vector<const Judged*> drawn_rows(const std::vector<Judged>& judged) {
  constexpr std::size_t kMostRows = 16;
  std::vector<const Judged*> out;
  for (const auto& one : judged) {
    if (one.ratio && *one.ratio > 0) out.push_back(&one);
  }
  const auto rank = [](const Judged* one) {
    const auto place = std::find(kWorstFirst.begin(), kWorstFirst.end(), one->verdict) - kWorstFirst.begin();
    return std::pair(place, -std::abs(std::log(*one->ratio)));
  };
  std::stable_sort(out.begin(), out.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  out.resize(std::min(out.size(), kMostRows));
  return out;
}

}  // namespace

Chart decisions_chart(const std::vector<Judged>& judged, const std::string& title) {
  Chart out{.key = "decisions",
            .title = title,
            .x = {.title = "metric and cell"},
            .y = {.title = "change (%)", .from_zero = true},
            .series = {},
            .sideways = true};
  const auto percent = [](double ratio) { return 100 * (ratio - 1); };
  const auto rows = drawn_rows(judged);
  const auto with_ratio =
      std::count_if(judged.begin(), judged.end(), [](const Judged& one) { return one.ratio && *one.ratio > 0; });
  if (static_cast<std::size_t>(with_ratio) > rows.size()) {
    out.title += fmt::format(", the first {} of {}", rows.size(), with_ratio);
  }
  const bool one_cell = cells_in(judged, std::nullopt) == 1;
  ChartSeries margins{.name = "does not matter", .marks = Marks::strips, .points = {}, .colour = Colour::limit};
  std::map<Verdict, ChartSeries> by_verdict;
  for (const auto* row : rows) {
    const auto x = static_cast<double>(out.x.categories.size());
    out.x.categories.push_back(one_cell ? row->metric : row->metric + ", " + harness::shown_label(row->cell));
    if (row->margin_fraction) {
      // The same factor up and down, as in the decision.
      const double factor = 1 + *row->margin_fraction;
      margins.points.push_back({.x = x, .y = 0, .low = percent(1 / factor), .high = percent(factor)});
    }
    const auto texts = change_texts(row->ratio, row->ratio_low, row->ratio_high);
    ChartPoint point{.x = x, .y = percent(*row->ratio), .text = texts.change};
    if (row->ratio_low && row->ratio_high) {
      point.low = percent(*row->ratio_low);
      point.high = percent(*row->ratio_high);
      point.text += " (" + texts.interval + ")";
    }
    auto& series = by_verdict[row->verdict];
    series.name = spec::enum_name(row->verdict);
    series.marks = Marks::points;
    series.colour = colour_of(tone_of(row->verdict));
    series.points.push_back(std::move(point));
  }
  if (!margins.points.empty()) out.series.push_back(std::move(margins));
  for (const auto verdict : kWorstFirst) {
    if (by_verdict.contains(verdict)) out.series.push_back(std::move(by_verdict[verdict]));
  }
  return out;
}

}  // namespace perfbench::reports
