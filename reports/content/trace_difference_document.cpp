#include "reports/content/trace_difference_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reports/content/trace_document.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using harness::AlignedOperation;
using harness::StepAlignment;
using Operations = std::vector<const AlignedOperation*>;

constexpr double kNsOfMs = 1e6;
constexpr std::size_t kOperationsDrawn = 20'000;
constexpr std::size_t kRanksDrawn = 8;

double difference_milliseconds(std::int64_t ns) {
  return static_cast<double>(ns) / kNsOfMs;
}

std::string signed_difference(std::int64_t ns) {
  return (ns > 0 ? "+" : "") + format_number(difference_milliseconds(ns));
}

Cell time_cell(const std::optional<harness::OperationTime>& time) {
  if (!time) return {kNothing, Value()};
  return {format_number(difference_milliseconds(time->ns())), time->ns()};
}

Row operation_row(const AlignedOperation& operation) {
  const auto difference = operation.difference_ns();
  return {.cells = {Cell(std::to_string(operation.rank), operation.rank), operation.name, operation.phase,
                    operation.range, time_cell(operation.a), time_cell(operation.b),
                    Cell(signed_difference(difference), difference)}};
}

Table operations_table(const Operations& operations, Audience audience) {
  Table out{.key = "operations",
            .columns = {{.title = "Rank", .key = "rank", .align = Align::right},
                        {.title = "Operation", .key = "name"},
                        {.title = "Phase", .key = "phase"},
                        {.title = "Part", .key = "range"},
                        {.title = "A (ms)", .key = "a_ns", .align = Align::right},
                        {.title = "B (ms)", .key = "b_ns", .align = Align::right},
                        {.title = "B - A (ms)", .key = "difference_ns", .align = Align::right}},
            .rows = {}};
  for (auto& column : out.columns) column.audience = audience;
  for (const auto* operation : operations) out.rows.push_back(operation_row(*operation));
  return out;
}

// The `most` operations with the largest differences.
Operations largest(const StepAlignment& alignment, std::size_t most) {
  Operations out;
  for (const auto& operation : alignment.operations) out.push_back(&operation);
  std::stable_sort(out.begin(), out.end(), [](const auto* x, const auto* y) {
    return std::abs(x->difference_ns()) > std::abs(y->difference_ns());
  });
  out.resize(std::min(out.size(), most));
  return out;
}

// How far the other step is behind A at the end of each common operation: where the line rises, time is lost.
Chart delay_chart(const StepAlignment& alignment) {
  Chart out{.key = "delay",
            .title = "Delay of B",
            .x = {.title = "ms of A's step"},
            .y = {.title = "ms", .from_zero = true},
            .series = {}};
  std::int64_t rank = -1;
  for (const auto& operation : alignment.operations) {
    if (!operation.a || !operation.b) continue;
    if (rank != operation.rank) {
      if (out.series.size() == kRanksDrawn) break;
      out.series.push_back({.name = fmt::format("rank {}", operation.rank), .points = {}});
      rank = operation.rank;
    }
    out.series.back().points.push_back({.x = difference_milliseconds(operation.a->end_ns),
                                        .y = difference_milliseconds(operation.b->end_ns - operation.a->end_ns),
                                        .label = operation.phase + " " + operation.name});
  }
  // Operations that overlap need not end in the order in which they began.
  for (auto& series : out.series) std::ranges::stable_sort(series.points, {}, &ChartPoint::x);
  return out;
}

// The kinds are: operations of one step only, and common ones that take at least a twentieth more or less than in the
// other step.
std::string kind_of(const AlignedOperation& operation) {
  constexpr double kDiffers = 1.05;
  if (!operation.b) return "A alone";
  if (!operation.a) return "B alone";
  const auto a = static_cast<double>(operation.a->ns());
  const auto b = static_cast<double>(operation.b->ns());
  if (a == b) return "as long";
  return b >= kDiffers * a ? "longer in B" : a >= kDiffers * b ? "shorter in B" : "as long";
}

std::string aligned_span_name(const AlignedOperation& operation) {
  auto out = operation.phase + " " + operation.name;
  if (!operation.range.empty()) out += " of " + operation.range;
  return out + ", " + signed_difference(operation.difference_ns()) + " ms in B";
}

// Each rank's two steps below each other; if there are very many operations, the longest ones.
Timeline both_steps(const StepAlignment& alignment) {
  Operations drawn;
  for (const auto& operation : alignment.operations) drawn.push_back(&operation);
  if (drawn.size() > kOperationsDrawn) {
    const auto longest = [](const AlignedOperation* x) {
      return std::max(x->a ? x->a->ns() : 0, x->b ? x->b->ns() : 0);
    };
    std::nth_element(drawn.begin(), drawn.begin() + kOperationsDrawn, drawn.end(),
                     [&](const auto* x, const auto* y) { return longest(x) > longest(y); });
    drawn.resize(kOperationsDrawn);
  }
  std::map<std::int64_t, std::pair<TimelineLane, TimelineLane>> lanes;  // by rank
  for (const auto* operation : drawn) {
    auto& [a, b] = lanes[operation->rank];
    for (const auto& [lane, time] : {std::pair{&a, &operation->a}, std::pair{&b, &operation->b}}) {
      if (!*time) continue;
      lane->spans.push_back({.name = aligned_span_name(*operation),
                             .kind = kind_of(*operation),
                             .start_ns = (*time)->start_ns,
                             .end_ns = (*time)->end_ns});
    }
  }
  Timeline out{.key = "both",
               .title = fmt::format("Step {} of A above step {} of B", alignment.a_step, alignment.b_step),
               .lanes = {},
               .coloured = {"A alone", "longer in B", "shorter in B", "B alone"}};
  for (auto& [rank, both] : lanes) {
    for (auto* lane : {&both.first, &both.second}) {
      lane->name = fmt::format("rank {}, {}", rank, lane == &both.first ? "A" : "B");
      std::stable_sort(lane->spans.begin(), lane->spans.end(), [](const auto& x, const auto& y) {
        return std::pair(x.start_ns, -x.end_ns) < std::pair(y.start_ns, -y.end_ns);
      });
      out.lanes.push_back(std::move(*lane));
    }
  }
  return out;
}

std::string difference_json(const harness::Attribution& attribution, const StepAlignment& alignment) {
  auto out = nlohmann::ordered_json::parse(attribution_json(attribution));
  out["a_step"] = alignment.a_step;
  out["b_step"] = alignment.b_step;
  auto& operations = out["operations"] = nlohmann::ordered_json::array();
  const auto time = [](const std::optional<harness::OperationTime>& of) {
    if (!of) return nlohmann::ordered_json();
    return nlohmann::ordered_json{{"start_ns", of->start_ns}, {"end_ns", of->end_ns}};
  };
  for (const auto& operation : alignment.operations) {
    operations.push_back({{"rank", operation.rank},
                          {"name", operation.name},
                          {"phase", operation.phase},
                          {"range", operation.range},
                          {"a", time(operation.a)},
                          {"b", time(operation.b)}});
  }
  return json_text(out, 2);
}

}  // namespace

Document trace_difference_document(const harness::Attribution& attribution, const StepAlignment& alignment,
                                   std::size_t most) {
  auto out = attribution_document(attribution, most);
  out.add(Heading{.level = 2, .text = "Operation by operation"});
  out.add(
      Note{fmt::format("Step {} of A, {} ms, and step {} of B, {} ms: the traced step of middle duration of each run.",
                       alignment.a_step, format_number(difference_milliseconds(alignment.a_wall_ns)), alignment.b_step,
                       format_number(difference_milliseconds(alignment.b_wall_ns)))});
  if (auto delay = delay_chart(alignment); !delay.series.empty()) out.add(std::move(delay));
  if (!alignment.operations.empty()) out.add(both_steps(alignment));
  out.add(operations_table(largest(alignment, most), Audience::people));
  out.add(operations_table(largest(alignment, alignment.operations.size()), Audience::programs));
  if (alignment.operations.size() > most) {
    out.add(Note{fmt::format("{} operations; these differ most. csv and json have all.", alignment.operations.size())});
  }
  out.json = [=] { return difference_json(attribution, alignment); };
  return out;
}

}  // namespace perfbench::reports
