#include "reports/content/roofline.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "reports/content/cells.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::OperationRate;
using harness::TracedRoofline;

// A decimal prefix that suits an axis from `largest` down.
struct RateUnit {
  const char* prefix;
  double size;
};

RateUnit rate_unit(double largest) {
  if (largest >= 1e12) return {"T", 1e12};
  return largest >= 1e9 ? RateUnit{"G", 1e9} : RateUnit{"M", 1e6};
}

std::vector<const OperationRate*> rates_with(const TracedRoofline& roofline, bool products) {
  std::vector<const OperationRate*> out;
  for (const auto& rate : roofline.rates) {
    if ((rate.flops > 0) == products && rate.bytes > 0) out.push_back(&rate);
  }
  return out;
}

std::string roof_text(const OperationRate& rate, const TracedRoofline& roofline) {
  const auto fraction = roofline.peaks ? fraction_of_roof(rate, *roofline.peaks) : std::nullopt;
  return fraction ? ", " + format_percent(*fraction) + " of its limit" : "";
}

// The limit over a range that contains these intensities and, if the memory's bandwidth is known, the ridge: from there
// on the limit is the peak of products.
std::optional<ChartSeries> roof_line(const TracedRoofline& roofline, double least, double most, double unit) {
  if (!roofline.peaks || roofline.peaks->flops_per_s <= 0) return std::nullopt;
  const auto& peaks = *roofline.peaks;
  ChartSeries out{.name = "limit of " + peaks.name, .marks = Marks::ideal, .points = {}};
  std::vector<double> places{least / 2, 2 * most};
  if (peaks.bytes_per_s > 0) {
    const double ridge = peaks.flops_per_s / peaks.bytes_per_s;
    places = {std::min(least, ridge) / 2, ridge, 2 * std::max(most, ridge)};
  }
  for (const double x : places) out.points.push_back({.x = x, .y = peaks.attainable_flops_per_s(x) / unit});
  return out;
}

std::optional<Chart> products_chart(const TracedRoofline& roofline) {
  const auto rates = rates_with(roofline, true);
  if (rates.empty()) return std::nullopt;
  double largest = 0;
  double least = rates.front()->flops_per_byte();
  double most = least;
  for (const auto* rate : rates) {
    largest = std::max(largest, rate->flops_per_s());
    least = std::min(least, rate->flops_per_byte());
    most = std::max(most, rate->flops_per_byte());
  }
  const auto unit = rate_unit(largest);
  Chart out{.key = "roofline",
            .title = "Operations with matrix products, by arithmetic intensity",
            .x = {.title = "arithmetic intensity (FLOP/byte)", .scale = Scale::logarithmic},
            .y = {.title = fmt::format("{}FLOP/s", unit.prefix), .scale = Scale::logarithmic},
            .series = {{.name = "reached", .marks = Marks::points, .points = {}}}};
  for (const auto* rate : rates) {
    out.series[0].points.push_back(
        {.x = rate->flops_per_byte(),
         .y = rate->flops_per_s() / unit.size,
         .label = format_percent(rate->step_fraction) + " of the step" + roof_text(*rate, roofline),
         .text = rate->name});
  }
  if (auto line = roof_line(roofline, least, most, unit.size)) out.series.push_back(std::move(*line));
  return out;
}

std::optional<Chart> bandwidth_chart(const TracedRoofline& roofline) {
  constexpr std::size_t kMostBars = 12;
  auto rates = rates_with(roofline, false);
  if (rates.empty()) return std::nullopt;
  rates.resize(std::min(rates.size(), kMostBars));
  double largest = 0;
  for (const auto* rate : rates) largest = std::max(largest, rate->bytes_per_s());
  const auto unit = rate_unit(largest);
  Chart out{.key = "bandwidth",
            .title = "Operations without matrix products, those that take the longest first",
            .x = {.title = "operation"},
            .y = {.title = fmt::format("{}B/s", unit.prefix), .from_zero = true},
            .series = {},
            .sideways = true};
  ChartSeries bars{.name = "reached", .marks = Marks::bars, .points = {}};
  ChartSeries limit{.name = "bandwidth of the memory", .marks = Marks::strips, .points = {}, .colour = Colour::limit};
  for (const auto* rate : rates) {
    const auto x = static_cast<double>(out.x.categories.size());
    out.x.categories.push_back(rate->name);
    bars.points.push_back({.x = x,
                           .y = rate->bytes_per_s() / unit.size,
                           .label = format_percent(rate->step_fraction) + " of the step",
                           .text = human_count(rate->bytes_per_s(), "B/s") + roof_text(*rate, roofline)});
    if (roofline.peaks && roofline.peaks->bytes_per_s > 0) {
      limit.points.push_back({.x = x, .y = 0, .low = 0, .high = roofline.peaks->bytes_per_s / unit.size});
    }
  }
  if (!limit.points.empty()) out.series.push_back(std::move(limit));
  out.series.push_back(std::move(bars));
  return out;
}

Cell amount_of_rate(double value, const char* unit) {
  return {human_count(value, unit), value};
}

Table rates_table(const TracedRoofline& roofline) {
  Table out{.key = "roofline",
            .columns = {{.title = "operation", .key = "operation"},
                        {.title = "calls", .key = "calls", .align = Align::right},
                        {.title = "time", .key = "time_s", .align = Align::right},
                        {.title = "of the step", .key = "step_fraction", .align = Align::right},
                        {.title = "FLOP/s", .key = "flops_per_s", .align = Align::right},
                        {.title = "B/s", .key = "bytes_per_s", .align = Align::right},
                        {.title = "FLOP/byte", .key = "flops_per_byte", .align = Align::right},
                        {.title = "of its limit", .key = "roof_fraction", .align = Align::right}},
            .rows = {}};
  for (const auto& rate : roofline.rates) {
    const auto roof = roofline.peaks ? fraction_of_roof(rate, *roofline.peaks) : std::nullopt;
    const Cell nothing{kNothing, Value()};
    out.rows.push_back(
        {.cells = {rate.name,
                   count_cell(rate.calls),
                   {format_amount(rate.time_s, "s"), rate.time_s},
                   {format_percent(rate.step_fraction), rate.step_fraction},
                   rate.flops > 0 ? amount_of_rate(rate.flops_per_s(), "FLOP/s") : nothing,
                   amount_of_rate(rate.bytes_per_s(), "B/s"),
                   rate.flops > 0 && rate.bytes > 0 ? Cell{format_number(rate.flops_per_byte()), rate.flops_per_byte()}
                                                    : nothing,
                   roof ? Cell{format_percent(*roof), *roof} : nothing}});
  }
  return out;
}

}  // namespace

void add_roofline(Document& out, const TracedRoofline& roofline) {
  out.add(Heading{.level = 2, .text = "Rates of operations"});
  if (!roofline.missing.empty()) {
    out.add(Note{"The rates of operations are unknown: " + roofline.missing + "."});
    return;
  }
  if (auto chart = products_chart(roofline)) out.add(std::move(*chart));
  if (auto chart = bandwidth_chart(roofline)) out.add(std::move(*chart));
  out.add(rates_table(roofline));
  out.add(
      Note{fmt::format("Rank {}, means over the traced steps. This engine counts each operand once, so an operation "
                       "on operands in a cache can exceed the bandwidth of the memory.",
                       roofline.rank)});
  if (!roofline.peaks) {
    out.add(Note{"No limit is shown, because no file of workloads/hardware describes this device."});
  } else if (roofline.peaks->bytes_per_s <= 0) {
    out.add(Note{"The limit is the measured fp32 rate of the rank's threads; the bandwidth of the memory is unknown."});
  }
}

}  // namespace perfbench::reports
