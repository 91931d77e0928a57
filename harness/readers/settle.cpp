#include "harness/readers/settle.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/readers/reader.h"

namespace perfbench::readers {
namespace {

constexpr const char* kStepTime = "step_time_s";
constexpr double kCoarse = 0.01;            // resolution over the median; a figure with a coarser one cannot decide
constexpr double kMostSharedStamps = 0.05;  // share of the records; a busy machine delivers a few lines at once

using spec::Sample;
using spec::SampleKind;

bool is_of_run(const Sample& sample) {
  return sample.kind == SampleKind::since_start_mean || sample.kind == SampleKind::ema;
}

bool is_time(const Sample& sample) {
  return std::string_view(sample.metric).ends_with("_time_s");
}

bool same_value(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::string range(std::int64_t first, std::int64_t last) {
  return first == last ? "step " + std::to_string(first)
                       : "steps " + std::to_string(first) + " to " + std::to_string(last);
}

// A sample with the number of the start that it belongs to: 0, plus one for each time that the step number fell.
struct Placed {
  Sample sample;
  std::int64_t start = 0;
};

class Settler {
 public:
  explicit Settler(const SettleRules& rules) : rules_(rules) {}

  Settled run(const std::vector<Sample>& samples) {
    choose_ranks(samples);
    for (const auto& sample : samples) place(sample);
    count_steps();
    if (!out_.has_times) add_times_of_arrival();
    drop_and_write();
    look_at_losses();
    look_at_resolution();
    judge();
    return std::move(out_);
  }

 private:
  // One metric with its steps.
  struct Series {
    std::map<std::int64_t, Placed> by_step;
    std::optional<std::int64_t> last_step;
    std::int64_t start = 0;
    std::optional<std::int64_t> first_twice;
    std::int64_t last_twice = 0;
  };

  // Several ranks print the same steps: the lowest one is used. It may differ from metric to metric.
  void choose_ranks(const std::vector<Sample>& samples) {
    std::set<std::int64_t> ranks;
    for (const auto& sample : samples) {
      const auto [lowest, is_new] = rank_of_.try_emplace(sample.metric, sample.rank);
      if (!is_new) lowest->second = std::min(lowest->second, sample.rank);
      ranks.insert(sample.rank);
    }
    bool differ = false;
    for (const auto& sample : samples) differ = differ || sample.rank != rank_of_.at(sample.metric);
    if (differ) {
      out_.notes.push_back(std::to_string(ranks.size()) + " ranks printed records; those of the lowest rank were used");
    }
  }

  void place(const Sample& sample) {
    if (sample.rank != rank_of_.at(sample.metric)) return;
    if (is_of_run(sample)) {
      run_values_[sample.metric] = sample;
      return;
    }
    auto& series = series_[sample.metric];
    if (series.last_step && sample.step < *series.last_step) ++series.start;
    series.last_step = sample.step;
    const auto [at, is_new] = series.by_step.try_emplace(sample.step, Placed{sample, series.start});
    if (is_new) return;
    const bool differs = !same_value(at->second.sample.value, sample.value);
    if (!differs && at->second.start == series.start) return;  // a bar that repeats the value
    at->second = {sample, series.start};
    if (!differs) return;
    series.first_twice = std::min(series.first_twice.value_or(sample.step), sample.step);
    series.last_twice = std::max(series.last_twice, sample.step);
  }

  // The metric with most steps shows how far the program came.
  const Series* longest() const {
    const Series* found = nullptr;
    for (const auto& [metric, series] : series_) {
      if (found == nullptr || series.by_step.size() > found->by_step.size()) found = &series;
    }
    return found;
  }

  void count_steps() {
    out_.has_times = series_.contains(kStepTime);
    const auto* series = longest();
    if (series == nullptr) return;
    const auto first = series->by_step.begin()->first;
    const auto last = series->by_step.rbegin()->first;
    std::vector<std::int64_t> differences;
    for (auto at = series->by_step.begin(); std::next(at) != series->by_step.end(); ++at) {
      differences.push_back(std::next(at)->first - at->first);
    }
    if (!differences.empty()) {
      const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
      std::ranges::nth_element(differences, middle);
      out_.log_interval = *middle;
    }
    // The first record of a log with an interval ends the first interval: records at steps 10, 20, ... began with step
    // 1. A run that continues from a checkpoint begins later.
    const bool from_beginning = first <= out_.log_interval;
    std::int64_t before_first = first == 0 ? -1 : from_beginning ? 0 : first - out_.log_interval;
    const auto times = series_.find(kStepTime);
    if (times != series_.end()) {
      const auto& earliest = times->second.by_step.begin()->second.sample;
      before_first = std::min(before_first, earliest.step - earliest.covers);
    }
    out_.steps = last - before_first;
    first_step_ = before_first + 1;
    for (const auto& [metric, each] : series_) out_.restarts = std::max(out_.restarts, each.start);
  }

  // Step times of a program that prints none: the time from line to line.
  void add_times_of_arrival() {
    const Series* series = longest();
    if (series == nullptr) return;
    std::vector<Placed> times;
    std::int64_t shared = 0;
    std::int64_t pairs = 0;
    const Placed* before = nullptr;
    for (const auto& [step, placed] : series->by_step) {
      if (before != nullptr && before->start == placed.start && before->sample.at_ns && placed.sample.at_ns) {
        const auto covers = step - before->sample.step;
        const auto ns = *placed.sample.at_ns - *before->sample.at_ns;
        ++pairs;
        if (ns <= 0) ++shared;
        auto time = placed;
        time.sample.metric = kStepTime;
        time.sample.covers = covers;
        time.sample.value = 1e-9 * static_cast<double>(ns) / static_cast<double>(covers);
        time.sample.kind = covers == 1 ? SampleKind::per_step : SampleKind::window_mean;
        time.sample.resolution = 0;
        times.push_back(time);
      }
      before = &placed;
    }
    if (times.empty()) return;
    if (static_cast<double>(shared) > kMostSharedStamps * static_cast<double>(pairs)) {
      out_.notes.push_back(
          "several records arrived at once, so their times mean nothing: the program buffers its output; start Python "
          "with -u, other programs with `stdbuf -oL`, or flush after each record");
      return;
    }
    for (const auto& time : times) series_[kStepTime].by_step.emplace(time.sample.step, time);
    out_.has_times = out_.times_of_arrival = true;
    out_.notes.emplace_back("the program prints no step time; step times are the times between two of its lines");
  }

  // The first step after each start.
  std::map<std::int64_t, std::int64_t> starts(const Series& series) const {
    std::map<std::int64_t, std::int64_t> first;
    for (const auto& [step, placed] : series.by_step) first.try_emplace(placed.start, step);
    if (first.contains(0)) first[0] = std::min(first[0], first_step_);
    return first;
  }

  void drop_and_write() {
    std::int64_t unknown = 0;
    for (const auto& [metric, series] : series_) {
      const auto first = starts(series);
      for (const auto& [step, placed] : series.by_step) {
        const auto& sample = placed.sample;
        if (is_time(sample)) {
          if (sample.covers == 0) {
            ++unknown;
            continue;
          }
          if (step - sample.covers + 1 < first.at(placed.start) + rules_.drop) continue;
        }
        out_.samples.push_back(sample);
      }
    }
    for (const auto& [metric, value] : run_values_) out_.run_values.push_back(value);
    if (unknown > 0) {
      out_.notes.push_back(std::to_string(unknown) +
                           " step times are means over an unknown number of steps, at a start, and were left out");
    }
  }

  void look_at_losses() {
    const auto found = series_.find("loss");
    if (found == series_.end()) return;
    for (const auto& [step, placed] : found->second.by_step) {
      if (std::isfinite(placed.sample.value)) continue;
      out_.lost_loss_at = step;
      return;
    }
  }

  void look_at_resolution() {
    std::vector<double> values;
    double resolution = 0;
    for (const auto& sample : out_.samples) {
      if (sample.metric != kStepTime) continue;
      values.push_back(sample.value);
      resolution = std::max(resolution, sample.resolution);
    }
    if (values.empty() || resolution == 0) return;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    out_.time_resolution_fraction = *middle > 0 ? resolution / *middle : 1;
    if (out_.time_resolution_fraction <= kCoarse) return;
    out_.notes.push_back("step times are printed in units that are " +
                         std::to_string(std::llround(100 * out_.time_resolution_fraction)) +
                         " % of a step; no smaller difference can be judged: use a metric file with full precision");
  }

  void judge() {
    std::optional<std::int64_t> first;
    std::int64_t last = 0;
    for (const auto& [metric, series] : series_) {
      if (!series.first_twice) continue;
      first = std::min(first.value_or(*series.first_twice), *series.first_twice);
      last = std::max(last, series.last_twice);
    }
    const auto twice = first ? range(*first, last) + " taken twice" : std::string();
    if (first) out_.notes.push_back(twice + "; the last values count");
    if (rules_.restarts == spec::Restarts::refused && (out_.restarts > 0 || !twice.empty())) {
      out_.quarantine = out_.restarts > 0 ? "the program restarted, or the log has several attempts" : "";
      if (!twice.empty()) out_.quarantine += (out_.quarantine.empty() ? "" : "; ") + twice;
      out_.quarantine += "; if that is intended, set `restarts: allowed`";
      return;
    }
    // Steps after the last record of an interval are not printed.
    if (rules_.steps > 0 && out_.steps + out_.log_interval - 1 < rules_.steps) {
      out_.quarantine =
          "its records say " + std::to_string(out_.steps) + " of " + std::to_string(rules_.steps) + " steps";
    }
  }

  SettleRules rules_;
  Settled out_;
  std::map<std::string, std::int64_t> rank_of_;
  std::map<std::string, Series> series_;
  std::map<std::string, Sample> run_values_;
  std::int64_t first_step_ = 0;
};

}  // namespace

SettleRules settle_rules(const spec::ProgramSpec& program) {
  std::int64_t drop = program.drop;
  if (!program.reader.empty()) drop = std::max(drop, reader_info(program.reader).drop);
  for (const auto& file : program.files) drop = std::max(drop, reader_info(file.format).drop);
  return {.drop = drop, .steps = program.steps, .restarts = program.restarts};
}

bool warms_up(const spec::ProgramSpec& program) {
  const auto of_file = [](const spec::MetricFile& file) { return reader_info(file.format).warms_up; };
  return (!program.reader.empty() && reader_info(program.reader).warms_up) ||
         std::ranges::any_of(program.files, of_file);
}

Settled settle(const std::vector<Sample>& samples, const SettleRules& rules) {
  return Settler(rules).run(samples);
}

double mean_step_time_s(const Settled& settled) {
  double sum = 0;
  double steps = 0;
  for (const auto& sample : settled.samples) {
    if (sample.metric != kStepTime) continue;
    sum += sample.value * static_cast<double>(sample.covers);
    steps += static_cast<double>(sample.covers);
  }
  return steps > 0 ? sum / steps : 0;
}

}  // namespace perfbench::readers
