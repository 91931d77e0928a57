#include "reports/content/peak_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "reports/render/chart/axis.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

Row tensors_row(const spec::TensorGroup& group, std::int64_t peak_bytes) {
  const double share = peak_bytes == 0 ? 0 : static_cast<double>(group.bytes) / static_cast<double>(peak_bytes);
  return {.cells = {group.scope, group.name, group.dtype, group.shape,
                    Cell(std::to_string(group.tensors), group.tensors), Cell(human_bytes(group.bytes), group.bytes),
                    peak_bytes == 0 ? Cell(kNothing, Value()) : Cell(format_percent(share), share)}};
}

Table empty_tensors_table(Audience audience) {
  Table table{.key = "tensors",
              .columns = {{.title = "Scope", .key = "scope"},
                          {.title = "Tensor", .key = "tensor"},
                          {.title = "Dtype", .key = "dtype"},
                          {.title = "Local shape", .key = "shape"},
                          {.title = "Count", .key = "tensors", .align = Align::right},
                          {.title = "Bytes", .key = "bytes", .align = Align::right},
                          {.title = "Share of the peak", .key = "peak_fraction", .align = Align::right}},
              .rows = {}};
  for (auto& column : table.columns) column.audience = audience;
  return table;
}

}  // namespace

Chart course_chart(const spec::DryCounts& counts) {
  Chart out{.key = "memory_course",
            .title = fmt::format("Memory of rank {} over a step, as counted", counts.rank),
            .x = {.title = "starts and ends of operations"},
            .y = {.title = "", .from_zero = true},
            .series = {{.name = "", .points = {}}}};
  const std::string* phase = nullptr;
  for (const auto& sample : counts.course) {
    const auto x = static_cast<double>(sample.at);
    out.series[0].points.push_back({.x = x,
                                    .y = static_cast<double>(sample.bytes),
                                    .label = sample.phase + (sample.range.empty() ? "" : ", " + sample.range)});
    if (phase == nullptr || *phase != sample.phase) out.spans.push_back({.name = sample.phase, .from = x, .to = x});
    out.spans.back().to = x;
    phase = &sample.phase;
  }
  // As many as a reader can distinguish: steps of many microbatches switch between phases all the time.
  constexpr std::size_t kMostSpans = 12;
  std::erase_if(out.spans, [](const ChartSpan& span) { return span.name == "other"; });
  if (out.spans.size() > kMostSpans) out.spans.clear();
  show_in_unit(out, "memory", "bytes");
  return out;
}

Table tensors_table(const spec::DryCounts& counts, Audience audience) {
  auto table = empty_tensors_table(audience);
  for (const auto& group : counts.largest) table.rows.push_back(tensors_row(group, counts.peak.total_bytes));
  return table;
}

Table largest_tensors_table(const spec::DryCounts& counts, std::size_t most) {
  auto table = empty_tensors_table(Audience::people);
  const auto shown = std::min(most, counts.largest.size());
  for (std::size_t i = 0; i < shown; ++i) {
    table.rows.push_back(tensors_row(counts.largest[i], counts.peak.total_bytes));
  }
  spec::TensorGroup others{.name = fmt::format("{} other kinds", counts.largest.size() - shown)};
  for (std::size_t i = shown; i < counts.largest.size(); ++i) {
    others.tensors += counts.largest[i].tensors;
    others.bytes += counts.largest[i].bytes;
  }
  if (shown < counts.largest.size()) table.rows.push_back(tensors_row(others, counts.peak.total_bytes));
  return table;
}

std::string moment_text(const spec::PeakMoment& moment) {
  if (moment.phase.empty()) return "";
  return fmt::format(": {}{}{}, when {} was made", moment.phase, moment.range.empty() ? "" : ", ", moment.range,
                     moment.tensor);
}

}  // namespace perfbench::reports
