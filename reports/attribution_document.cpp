#include "reports/attribution_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/format/json_text.h"
#include "reports/format/number.h"

namespace perfbench::reports {
namespace {

using harness::AttributedShare;
using harness::Attribution;

std::string milliseconds(double seconds) {
  return format_number(1e3 * seconds);
}

std::string signed_milliseconds(double seconds) {
  return (seconds > 0 ? "+" : "") + milliseconds(seconds);
}

Cell part_of_difference(double share_s, const Attribution& attribution) {
  if (attribution.difference_s() == 0) return {kNothing, Value()};
  const double fraction = share_s / attribution.difference_s();
  return {fmt::format("{:.0f} %", 100 * fraction), fraction};
}

Row share_row(const AttributedShare& share, const Attribution& attribution) {
  return {.cells = {share.name,
                    {milliseconds(share.a_s), share.a_s},
                    {milliseconds(share.b_s), share.b_s},
                    {signed_milliseconds(share.difference_s()), share.difference_s()},
                    part_of_difference(share.difference_s(), attribution)}};
}

Table share_table(Audience audience) {
  Table table{
      .key = "shares",
      .columns = {{.title = "Share of a traced step", .key = "name"},
                  {.title = "A (ms)", .key = "a_s", .align = Align::right},
                  {.title = "B (ms)", .key = "b_s", .align = Align::right},
                  {.title = "B - A (ms)", .key = "difference_s", .align = Align::right},
                  {.title = "of the traced difference", .key = "of_difference_fraction", .align = Align::right}},
      .rows = {}};
  for (auto& column : table.columns) column.audience = audience;
  return table;
}

Table attribution_table(const Attribution& attribution, std::size_t most) {
  auto table = share_table(Audience::people);
  const auto shown = std::min(most, attribution.shares.size());
  for (std::size_t i = 0; i < shown; ++i) table.rows.push_back(share_row(attribution.shares[i], attribution));
  if (shown < attribution.shares.size()) {
    AttributedShare rest{.name = fmt::format("{} others", attribution.shares.size() - shown)};
    for (std::size_t i = shown; i < attribution.shares.size(); ++i) {
      rest.a_s += attribution.shares[i].a_s;
      rest.b_s += attribution.shares[i].b_s;
    }
    table.rows.push_back(share_row(rest, attribution));
  }
  table.rows.push_back(share_row({.name = "the step", .a_s = attribution.a_s, .b_s = attribution.b_s}, attribution));
  return table;
}

}  // namespace

std::vector<std::string> largest_differences(const Attribution& attribution, std::size_t most) {
  std::vector<std::string> lines;
  for (const auto& share : attribution.shares) {
    if (lines.size() == most || share.difference_s() == 0) break;
    lines.push_back(fmt::format("{} ms {}, of {} ms between the traced steps",
                                signed_milliseconds(share.difference_s()), share.name,
                                signed_milliseconds(attribution.difference_s())));
  }
  return lines;
}

Chart attribution_chart(const Attribution& attribution, std::size_t most) {
  const auto shares = attribution_table(attribution, most);
  constexpr double kMilliseconds = 1e3;
  Chart out{.key = "waterfall",
            .title = "From A's traced step to B's",
            .x = {.title = "share of a traced step"},
            .y = {.title = "ms", .from_zero = true},
            .series = {{.name = "step", .marks = Marks::bars, .points = {}, .colour = Colour::plain},
                       {.name = "longer", .marks = Marks::bars, .points = {}, .colour = Colour::bad},
                       {.name = "shorter", .marks = Marks::bars, .points = {}, .colour = Colour::good}}};
  const auto add = [&](ChartSeries& series, const std::string& name, double from, double to) {
    const auto x = static_cast<double>(out.x.categories.size());
    out.x.categories.push_back(name);
    series.points.push_back({.x = x, .y = to - from, .low = std::min(from, to), .high = std::max(from, to)});
  };
  add(out.series[0], "A", 0, attribution.a_s * kMilliseconds);
  double at = attribution.a_s;
  for (std::size_t i = 0; i + 1 < shares.rows.size(); ++i) {  // the last row is the step
    const auto& cells = shares.rows[i].cells;
    const double difference = std::get<double>(cells[3].value);
    add(out.series[difference > 0 ? 1 : 2], cells[0].text, at * kMilliseconds, (at + difference) * kMilliseconds);
    at += difference;
  }
  add(out.series[0], "B", 0, attribution.b_s * kMilliseconds);
  std::erase_if(out.series, [](const ChartSeries& series) { return series.points.empty(); });
  return out;
}

std::string attribution_json(const Attribution& attribution) {
  nlohmann::ordered_json out;
  out["a_s"] = attribution.a_s;
  out["b_s"] = attribution.b_s;
  out["a_steps"] = attribution.a_steps;
  out["b_steps"] = attribution.b_steps;
  out["dropped_records"] = attribution.dropped_records;
  out["shares"] = nlohmann::ordered_json::array();
  for (const auto& share : attribution.shares) {
    out["shares"].push_back({{"name", share.name}, {"a_s", share.a_s}, {"b_s", share.b_s}});
  }
  return json_text(out, 2);
}

Document attribution_document(const Attribution& attribution, std::size_t most) {
  Document out;
  out.add(attribution_table(attribution, most));
  out.add(attribution_chart(attribution, most));
  auto all = share_table(Audience::programs);
  for (const auto& share : attribution.shares) all.rows.push_back(share_row(share, attribution));
  out.add(std::move(all));
  out.add(Note{fmt::format("Means over the middle half of the traced steps, {} of A and {} of B.", attribution.a_steps,
                           attribution.b_steps)});
  if (attribution.dropped_records > 0) {
    out.add(Note{fmt::format("{} records of the traces found no room: shares are too small, idle time is too large.",
                             attribution.dropped_records)});
  }
  out.json = [=] { return attribution_json(attribution); };
  return out;
}

}  // namespace perfbench::reports
