#include "reports/content/run_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "harness/evidence/step_statistics.h"
#include "harness/stats/statistics.h"
#include "harness/stats/steady.h"
#include "reports/render/chart/axis.h"
#include "reports/render/format/number.h"

namespace perfbench::reports {
namespace {

using spec::StepRecord;

constexpr double kSecond = 1e-9;  // of a nanosecond

// The steps of the first rank, without traced ones, whose times do not count.
std::vector<StepRecord> timed_steps(const std::vector<StepRecord>& steps) {
  std::vector<StepRecord> out;
  for (const auto& step : steps) {
    if (step.rank == 0 && step.traced == 0) out.push_back(step);
  }
  return out;
}

std::vector<double> seconds_of(const std::vector<StepRecord>& steps) {
  std::vector<double> out;
  for (const auto& step : steps) out.push_back(static_cast<double>(step.wall_ns) * kSecond);
  return out;
}

// Lines across the steady steps at the median, and at the times that one step in ten and one in a hundred exceeds. Five
// steps must lie above such a time.
void add_percentiles(Chart& out, const std::vector<StepRecord>& steady) {
  struct Percentile {
    const char* name;
    double share;
    std::size_t fewest;
  };
  constexpr std::array kPercentiles{Percentile{"p50", 0.5, 2},
                                    Percentile{"p90", 0.9, harness::kFewestStepsOfAPercentile},
                                    Percentile{"p99", 0.99, 10 * harness::kFewestStepsOfAPercentile}};
  for (const auto& [name, share, fewest] : kPercentiles) {
    if (steady.size() < fewest) continue;
    const double time = harness::quantile(seconds_of(steady), share);
    out.series.push_back({.name = fmt::format("{} {}", name, format_amount(time, "s")),
                          .marks = Marks::ideal,
                          .points = {{.x = static_cast<double>(steady.front().step), .y = time},
                                     {.x = static_cast<double>(steady.back().step), .y = time}}});
  }
}

Chart times_chart(const std::vector<StepRecord>& steps, std::size_t warm_up, const std::vector<StepRecord>& steady) {
  Chart out{.key = "step_times",
            .title = "Time of each step, of rank 0",
            .x = {.title = "step"},
            .y = {.title = "", .from_zero = true},
            .series = {{.name = "time", .points = {}}}};
  for (const auto& step : steps) {
    out.series[0].points.push_back(
        {.x = static_cast<double>(step.step), .y = static_cast<double>(step.wall_ns) * kSecond});
  }
  add_percentiles(out, steady);
  if (warm_up > 0 && warm_up < steps.size()) {
    // A first step on a GPU can take as long as fifty others, which would appear as a line along the bottom.
    double most = 0;
    for (std::size_t i = warm_up; i < steps.size(); ++i) most = std::max(most, out.series[0].points[i].y);
    constexpr double kFar = 2;
    out.y.end = kFar * most;
    const auto last = static_cast<double>(steps[warm_up - 1].step);
    out.spans.push_back({.name = "warm-up", .from = static_cast<double>(steps.front().step) - 0.5, .to = last + 0.5});
  }
  show_in_unit(out, "step time", "s");
  return out;
}

// The number of columns is the square root of the number of steps.
Chart histogram(const std::vector<StepRecord>& steady) {
  auto times = seconds_of(steady);
  const auto unit = shown_unit("s", *std::min_element(times.begin(), times.end()));
  for (auto& time : times) time *= unit.factor;
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  const auto count = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(times.size()))));
  const double width = std::max(*most - *least, 1e-9) / static_cast<double>(count);
  Chart out{.key = "step_time_histogram",
            .title = "Distribution of steady step times",
            .x = {.title = "step time (" + unit.name + ")"},
            .y = {.title = "steps", .from_zero = true},
            .series = {{.name = "", .marks = Marks::bars, .points = {}}}};
  std::vector<double> columns(count);
  for (const double time : times) {
    const auto at = static_cast<std::size_t>((time - *least) / width);
    columns[std::min(at, count - 1)] += 1;
  }
  for (std::size_t i = 0; i < count; ++i) {
    out.series[0].points.push_back({.x = *least + (static_cast<double>(i) + 0.5) * width, .y = columns[i]});
  }
  return out;
}

// A row for each value, which is in a unit of the metric catalog.
Chart bars_of(Chart out, const std::vector<std::pair<const char*, double>>& values, const char* unit) {
  out.series = {{.name = "", .marks = Marks::bars, .points = {}}};
  out.sideways = true;
  for (const auto& [name, value] : values) {
    out.series[0].points.push_back(
        {.x = static_cast<double>(out.x.categories.size()), .y = value, .text = format_amount(value, unit)});
    out.x.categories.emplace_back(name);
  }
  show_in_unit(out, out.y.title, unit);
  return out;
}

struct Phase {
  const char* name;
  std::int64_t StepRecord::*time;
};
constexpr std::array kPhases{Phase{"data", &StepRecord::data_ns},
                             Phase{"forward", &StepRecord::forward_ns},
                             Phase{"backward", &StepRecord::backward_ns},
                             Phase{"communication", &StepRecord::exposed_comm_ns},
                             Phase{"bubble", &StepRecord::bubble_ns},
                             Phase{"optimizer", &StepRecord::optimizer_ns},
                             Phase{"checkpoint", &StepRecord::checkpoint_ns},
                             Phase{"other", &StepRecord::other_ns}};

using Steps = std::vector<const StepRecord*>;

double median_s(const Steps& steps, std::int64_t StepRecord::*time) {
  std::vector<double> times;
  for (const auto* step : steps) times.push_back(static_cast<double>(step->*time) * kSecond);
  return harness::median(std::move(times));
}

// The time of a rank's step in which it does not wait for other ranks.
double busy_s(const Steps& steps) {
  return median_s(steps, &StepRecord::wall_ns) - median_s(steps, &StepRecord::exposed_comm_ns) -
         median_s(steps, &StepRecord::bubble_ns);
}

// The steady steps of each rank, by rank.
std::vector<Steps> steady_by_rank(const std::vector<StepRecord>& all, const std::vector<StepRecord>& steady) {
  std::set<std::int64_t> numbers;
  for (const auto& step : steady) numbers.insert(step.step);
  std::map<std::int64_t, Steps> by_rank;
  for (const auto& step : all) {
    if (step.traced == 0 && numbers.contains(step.step)) by_rank[step.rank].push_back(&step);
  }
  std::vector<Steps> out;
  for (auto& [rank, steps] : by_rank) out.push_back(std::move(steps));
  return out;
}

// At most eight ranks: those that wait least for others, because the others wait for them.
std::vector<Steps> busiest(const std::vector<Steps>& ranks) {
  constexpr std::size_t kMostRanks = 8;
  std::vector<std::pair<double, std::size_t>> by_time;
  for (std::size_t i = 0; i < ranks.size(); ++i) by_time.emplace_back(-busy_s(ranks[i]), i);
  std::ranges::sort(by_time);
  if (by_time.size() > kMostRanks) by_time.resize(kMostRanks);
  std::ranges::sort(by_time, {}, &std::pair<double, std::size_t>::second);
  std::vector<Steps> out;
  for (const auto& [time, i] : by_time) out.push_back(ranks[i]);
  return out;
}

// A bar for each rank, whose parts are the phases; those that take the first rank the longest come first.
Chart phases_chart(const std::vector<Steps>& all_ranks) {
  const auto ranks = busiest(all_ranks);
  Chart out{.key = "phases",
            .title = "Phases of a steady step, medians",
            .x = {.title = "rank"},
            .y = {.title = "time", .from_zero = true},
            .series = {},
            .sideways = true};
  if (ranks.size() < all_ranks.size()) {
    out.title += fmt::format("; the {} of {} ranks that wait least for others", ranks.size(), all_ranks.size());
  }
  std::vector<double> wholes;
  for (const auto& steps : ranks) {
    out.x.categories.push_back(fmt::format("rank {}", steps.front()->rank));
    wholes.push_back(median_s(steps, &StepRecord::wall_ns));
  }
  for (const auto& phase : kPhases) {
    ChartSeries series{.name = phase.name, .marks = Marks::stacked, .points = {}};
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const double time = median_s(ranks[i], phase.time);
      const auto share = wholes[i] > 0 ? ", " + format_percent(time / wholes[i]) : "";
      const auto text = format_amount(time, "s") + share;
      series.points.push_back({.x = static_cast<double>(i), .y = time, .label = text});
      if (ranks.size() == 1) series.name += " " + text;
    }
    const bool takes_time = std::ranges::any_of(series.points, [](const ChartPoint& point) { return point.y > 0; });
    if (takes_time) out.series.push_back(std::move(series));
  }
  std::ranges::stable_sort(out.series, std::greater<>(), [](const ChartSeries& one) { return one.points[0].y; });
  show_in_unit(out, out.y.title, "s");
  return out;
}

Chart loss_chart(const std::vector<StepRecord>& steps) {
  Chart out{.key = "loss",
            .title = "Loss",
            .x = {.title = "step"},
            .y = {.title = "nats"},
            .series = {{.name = "", .points = {}}}};
  for (const auto& step : steps) {
    if (!std::isfinite(step.loss) || step.loss == 0) continue;
    out.series[0].points.push_back({.x = static_cast<double>(step.step), .y = step.loss});
  }
  return out;
}

Chart memory_chart(const std::vector<StepRecord>& steps) {
  const auto& most = *std::max_element(steps.begin(), steps.end(), [](const StepRecord& a, const StepRecord& b) {
    return a.peak.total_bytes < b.peak.total_bytes;
  });
  std::vector<std::pair<const char*, double>> values;
  const auto& peak = most.peak;
  for (const auto& [name, bytes] : {std::pair{"weights", peak.weights_bytes},
                                    {"gradients", peak.gradients_bytes},
                                    {"optimizer", peak.optimizer_bytes},
                                    {"activations", peak.activations_bytes},
                                    {"gathered", peak.gathered_bytes},
                                    {"workspace", peak.workspace_bytes},
                                    {"on the host", peak.host_bytes}}) {
    if (bytes > 0) values.emplace_back(name, static_cast<double>(bytes));
  }
  return bars_of({.key = "memory",
                  .title = "Memory of rank 0, the peak of each part",
                  .x = {.title = "for"},
                  .y = {.title = "memory", .from_zero = true},
                  .series = {}},
                 values, "bytes");
}

}  // namespace

std::vector<Chart> run_charts(const std::vector<StepRecord>& all) {
  const auto steps = timed_steps(all);
  if (steps.empty()) return {};
  const auto steady = harness::find_steady_steps(seconds_of(steps));
  const auto begin = steps.begin() + static_cast<std::ptrdiff_t>(steady.first);
  const std::vector<StepRecord> counted(begin, begin + static_cast<std::ptrdiff_t>(steady.count));
  std::vector<Chart> out{times_chart(steps, steady.first, counted)};
  if (counted.size() > 1) out.push_back(histogram(counted));
  if (!counted.empty()) out.push_back(phases_chart(steady_by_rank(all, counted)));
  out.push_back(loss_chart(steps));
  out.push_back(memory_chart(steps));
  std::erase_if(out, [](const Chart& chart) { return chart.series.empty() || chart.series.front().points.empty(); });
  return out;
}

}  // namespace perfbench::reports
