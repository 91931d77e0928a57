#include "reports/content/trace_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "harness/trace/activities.h"
#include "harness/trace/critical_path.h"
#include "harness/trace/trace_summary.h"
#include "reports/content/critical_path_blocks.h"
#include "reports/render/chart/axis.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/number.h"
#include "workloads/spec/fields_json.h"

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
            .y = {.title = "time (ms)", .from_zero = true},
            .series = {{.name = "step", .marks = Marks::bars, .points = {}, .colour = Colour::plain},
                       {.name = "longer", .marks = Marks::bars, .points = {}, .colour = Colour::bad},
                       {.name = "shorter", .marks = Marks::bars, .points = {}, .colour = Colour::good}},
            .sideways = true};
  const auto add = [&](ChartSeries& series, const std::string& name, double from, double to) {
    const auto x = static_cast<double>(out.x.categories.size());
    out.x.categories.push_back(name);
    const bool is_step = &series == &out.series[0];
    series.points.push_back(
        {.x = x,
         .y = to - from,
         .low = std::min(from, to),
         .high = std::max(from, to),
         .text = is_step ? format_amount(to / kMilliseconds, "s") : human_time_change((to - from) * 1e6)});
  };
  add(out.series[0], "A", 0, attribution.a_s * kMilliseconds);
  double at = attribution.a_s;
  for (std::size_t i = 0; i + 1 < shares.rows.size(); ++i) {  // the last row is the whole step
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

namespace {

// "A traced step of B takes 3.1 ms longer than A's 24 ms; the largest change is +2.90 ms in backward matmul"
Headline difference_headline(const Attribution& attribution) {
  const auto difference = attribution.difference_s();
  if (difference == 0) return {.text = "The traced steps of A and B take equally long"};
  auto text = fmt::format("A traced step of B takes {} {} than A's {}", format_amount(std::abs(difference), "s"),
                          difference > 0 ? "longer" : "less", format_amount(attribution.a_s, "s"));
  if (attribution.shares.empty()) return {.text = text};
  const auto& largest = attribution.shares.front();
  text +=
      fmt::format("; the largest change is {} in {}", human_time_change(largest.difference_s() * 1e9), largest.name);
  return {.text = text};
}

}  // namespace

Document attribution_document(const Attribution& attribution, std::size_t most) {
  Document out;
  out.add(difference_headline(attribution));
  out.add(attribution_table(attribution, most));
  out.add(attribution_chart(attribution, most));
  auto all = share_table(Audience::programs);
  for (const auto& share : attribution.shares) all.rows.push_back(share_row(share, attribution));
  out.add(std::move(all));
  out.add(Note{fmt::format("Means over the middle half of the traced steps, {} of A and {} of B.", attribution.a_steps,
                           attribution.b_steps)});
  if (attribution.dropped_records > 0) {
    out.add(Note{fmt::format(
        "{} trace records were dropped because their buffer was full: shares are too small, idle time is too large.",
        attribution.dropped_records)});
  }
  out.json = [=] { return attribution_json(attribution); };
  return out;
}

namespace {

using harness::RankTrace;
using harness::TraceSummary;

constexpr std::string_view kUnit = "_ns";
constexpr double kNsPerMs = 1e6;

// "exposed_comm_ns" -> "Exposed comm"
std::string title_of(std::string_view field) {
  std::string out(field.substr(0, field.size() - kUnit.size()));
  std::replace(out.begin(), out.end(), '_', ' ');
  out.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(out.front())));
  return out;
}

// Visits the parts of the step and the total of the collectives.
template <class F>
void for_each_part(const TraceSummary& summary, const F& visit) {
  auto step = [&visit](const spec::Field& field, const std::int64_t& value) {
    if (field.name.ends_with(kUnit) && field.name != "wall_ns") visit(field.name, value);
  };
  TraceSummary::fields(summary, step);
}

Table table_for_people(const std::vector<TraceSummary>& summaries) {
  Table table{.key = "steps", .columns = {}, .rows = {}};
  const auto add = [&table](const std::string& title) {
    table.columns.push_back({.title = title, .key = title, .align = Align::right, .audience = Audience::people});
  };
  for (const auto* title : {"Rank", "Step", "Time (ms)"}) add(title);
  for_each_part({}, [&add](std::string_view name, std::int64_t) { add(title_of(name)); });
  for (const auto& summary : summaries) {
    const auto wall = static_cast<double>(summary.wall_ns);
    Row row{.cells = {std::to_string(summary.rank), std::to_string(summary.step), format_number(wall / kNsPerMs)}};
    for_each_part(summary, [&](std::string_view, std::int64_t ns) {
      row.cells.emplace_back(wall > 0 ? format_percent(static_cast<double>(ns) / wall) : kNothing);
    });
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table table_for_programs(const std::vector<TraceSummary>& summaries) {
  Table table{.key = "steps", .columns = {}, .rows = {}};
  for (const auto& name : spec::field_names<TraceSummary>()) {
    table.columns.push_back({.title = name, .key = name, .audience = Audience::programs});
  }
  for (const auto& summary : summaries) {
    Row row;
    auto add = [&row](const spec::Field&, const std::int64_t& value) { row.cells.emplace_back("", Value(value)); };
    TraceSummary::fields(summary, add);
    table.rows.push_back(std::move(row));
  }
  return table;
}

struct MeanPart {
  std::string title;
  double seconds = 0;
  double step_fraction = 0;
};

// Means over all ranks and steps. The parts that took time, in the order of the table; they sum to the step.
struct MeanStep {
  double seconds = 0;
  std::vector<MeanPart> parts = {};
};

MeanStep mean_step(const std::vector<TraceSummary>& summaries) {
  std::map<std::string_view, std::int64_t> sums;
  std::int64_t wall_ns = 0;
  for (const auto& summary : summaries) {
    for_each_part(summary, [&sums](std::string_view name, std::int64_t ns) { sums[name] += ns; });
    wall_ns += summary.wall_ns;
  }
  const auto mean = [&summaries](std::int64_t sum_ns) {
    return static_cast<double>(sum_ns) * 1e-9 / static_cast<double>(summaries.size());
  };
  MeanStep out;
  if (wall_ns == 0) return out;
  out.seconds = mean(wall_ns);
  for_each_part({}, [&](std::string_view name, std::int64_t) {
    if (sums[name] == 0 || name == "collective_ns") return;
    out.parts.push_back({title_of(name), mean(sums[name]), mean(sums[name]) / out.seconds});
  });
  return out;
}

// "A traced step takes 12.30 ms: 61.0 % gemm, 20.0 % attention, 8.0 % idle host"
Headline step_headline(const MeanStep& step) {
  constexpr std::size_t kNamed = 3;
  auto parts = step.parts;
  std::ranges::stable_sort(parts, std::ranges::greater(), &MeanPart::seconds);
  parts.resize(std::min(parts.size(), kNamed));
  std::string text;
  for (auto& part : parts) {
    part.title.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(part.title.front())));
    text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", format_percent(part.step_fraction), part.title);
  }
  return {.text = "A traced step takes " + format_amount(step.seconds, "s") + text};
}

// The bars sum to the step.
Chart parts_chart(const MeanStep& step) {
  Chart out{.key = "parts",
            .title = "Parts of a traced step, means",
            .x = {.title = "part"},
            .y = {.title = "", .from_zero = true},
            .series = {{.name = "", .marks = Marks::bars, .points = {}}},
            .sideways = true};
  for (const auto& part : step.parts) {
    out.series[0].points.push_back(
        {.x = static_cast<double>(out.x.categories.size()),
         .y = part.seconds,
         .text = format_amount(part.seconds, "s") + ", " + format_percent(part.step_fraction)});
    out.x.categories.push_back(part.title);
  }
  show_in_unit(out, "time", "s");
  return out;
}

// Each step of a trace repeats the number of records that its rank dropped.
std::int64_t dropped_records(const std::vector<TraceSummary>& summaries) {
  std::int64_t dropped = 0;
  std::int64_t rank = -1;
  for (const auto& summary : summaries) {
    if (summary.rank != rank) dropped += summary.dropped_records;
    rank = summary.rank;
  }
  return dropped;
}

// A page with more spans in a lane becomes slow.
template <class Item, class Length>
void keep_longest(std::vector<Item>& items, const Length& length_of) {
  constexpr std::ptrdiff_t kSpansDrawn = 20'000;
  if (std::ssize(items) <= kSpansDrawn) return;
  std::ranges::nth_element(items, items.begin() + kSpansDrawn, std::ranges::greater(), length_of);
  items.erase(items.begin() + kSpansDrawn, items.end());
}

std::string lane_name(const spec::TraceEvent& event) {
  if (event.device == spec::kHostDevice) return fmt::format("rank {}, thread {}", event.rank, event.lane);
  return fmt::format("rank {}, device {}, stream {}", event.rank, event.device, event.lane);
}

std::string span_name(const spec::TraceEvent& event) {
  const auto& name = event.name.empty() ? event.kernel_name : event.name;
  return event.axis.empty() ? name : name + " " + event.axis;
}

// The parts of the step to which executed work belongs, by rank, start and end.
using Parts = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, harness::TracePart>;
Parts parts_of(const std::vector<RankTrace>& traces) {
  Parts out;
  for (const auto& trace : traces) {
    for (const auto& activity : harness::activities(trace)) {
      out[{trace.rank, activity.start_ns, activity.end_ns}] = activity.part;
    }
  }
  return out;
}

bool is_structure(spec::TraceKind kind) {
  using spec::TraceKind;
  return kind == TraceKind::step || kind == TraceKind::phase || kind == TraceKind::range || kind == TraceKind::submit ||
         kind == TraceKind::host_call || kind == TraceKind::marker;
}

// Work has the name of its part, so that equal colours are equal families of operations.
std::string timeline_kind(const spec::TraceEvent& event, const Parts& parts) {
  const auto found = parts.find({event.rank, event.start_ns, event.end_ns});
  if (is_structure(event.kind) || found == parts.end()) return std::string(spec::enum_name(event.kind));
  return std::string(spec::enum_name(found->second));
}

std::int64_t first_step(const std::vector<RankTrace>& traces) {
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  for (const auto& trace : traces) {
    for (const auto& event : trace.events) step = std::min(step, event.step);
  }
  return step;
}

// A step of every rank; if there are very many spans, the longest ones. Without lanes if nothing was traced.
Timeline timeline_of(const std::vector<RankTrace>& traces, std::int64_t step) {
  std::vector<const spec::TraceEvent*> events;
  for (const auto& trace : traces) {
    for (const auto& event : trace.events) {
      if (event.step == step) events.push_back(&event);
    }
  }
  keep_longest(events, [](const auto* event) { return event->end_ns - event->start_ns; });
  std::stable_sort(events.begin(), events.end(), [](const auto* a, const auto* b) {
    return std::pair(a->start_ns, -a->end_ns) < std::pair(b->start_ns, -b->end_ns);
  });
  const auto parts = parts_of(traces);
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, TimelineLane> lanes;
  for (const auto* event : events) {
    auto& lane = lanes[{event->rank, event->device, event->lane}];
    lane.name = lane_name(*event);
    lane.spans.push_back({.name = span_name(*event),
                          .kind = timeline_kind(*event, parts),
                          .start_ns = event->start_ns,
                          .end_ns = event->end_ns});
  }
  Timeline out{.key = "timeline", .title = fmt::format("Step {}", step), .lanes = {}};
  for (const auto& [part, name] : spec::EnumNames<harness::TracePart>::kNames) {
    if (!harness::is_idle(part)) out.coloured.emplace_back(name);
  }
  for (auto& [place, lane] : lanes) out.lanes.push_back(std::move(lane));
  return out;
}

TimelineLane critical_lane(const harness::CriticalPath& path) {
  auto out = critical_path_lane(path);
  keep_longest(out.spans, [](const TimelineSpan& span) { return span.end_ns - span.start_ns; });
  std::ranges::sort(out.spans, {}, &TimelineSpan::start_ns);
  return out;
}

void add_critical_path(Document& out, const harness::CriticalPath& path) {
  if (path.segments.empty()) return;
  out.add(Heading{.level = 2, .text = fmt::format("Critical path of step {}", path.step)});
  out.add(critical_path_table(path, Audience::people));
  out.add(critical_path_table(path, Audience::programs));
  out.add(
      Note{"The critical path is the chain of work and waiting that takes the whole step. Only what is on it can "
           "make the step shorter."});
  if (path.hops.empty()) return;
  out.add(
      Note{fmt::format("It changes ranks {} {}, where a rank waited for another one in a collective or for a "
                       "message.",
                       path.hops.size(), path.hops.size() == 1 ? "time" : "times")});
}

}  // namespace

Document trace_document(const std::vector<RankTrace>& traces, const std::optional<spec::MeshSpec>& mesh) {
  const auto summaries = harness::summarise(traces);
  const auto step = first_step(traces);
  const auto found = harness::critical_path(traces, mesh, step);
  const auto* path = std::get_if<harness::CriticalPath>(&found);
  const auto mean = mean_step(summaries);
  Document out;
  if (!mean.parts.empty()) out.add(step_headline(mean));
  if (path != nullptr) {
    if (const auto text = slow_rank_text(*path)) out.add(Paragraph{*text});
  }
  out.add(table_for_people(summaries));
  if (!mean.parts.empty()) out.add(parts_chart(mean));
  if (auto timeline = timeline_of(traces, step); !timeline.lanes.empty()) {
    if (path != nullptr) timeline.lanes.insert(timeline.lanes.begin(), critical_lane(*path));
    out.add(std::move(timeline));
  }
  out.add(table_for_programs(summaries));
  out.add(
      Note{"Parts sum to the step. Collective is the time of all collectives, including hidden ones, and is not in the "
           "sum."});
  if (const auto dropped = dropped_records(summaries); dropped > 0) {
    out.add(Note{fmt::format(
        "{} trace records were dropped because their buffer was full: parts are too small and idle time is too large.",
        dropped)});
  }
  const bool singly =
      std::any_of(traces.begin(), traces.end(), [](const auto& trace) { return trace.end.executed_singly; });
  if (singly) {
    out.add(
        Note{"Timed steps replay CUDA graphs, but traced steps executed every operation separately: idle time caused "
             "by the host occurs only in them."});
  }
  if (path != nullptr) {
    add_critical_path(out, *path);
  } else if (!summaries.empty()) {
    out.add(Note{no_path_text(std::get<harness::NoPath>(found))});
  }
  return out;
}

}  // namespace perfbench::reports
