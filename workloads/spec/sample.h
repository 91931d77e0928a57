// One number that a training program reported about its steps: a line of samples.jsonl, which perfbench-adapter writes.
// A program has no phases that add up to a step, as a StepRecord has, so a sample claims no more than was printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

// per_step: the value of one step. window_mean: a mean over the last `covers` steps. The other two average over steps
// that earlier samples averaged too, so they are not samples of a distribution, and only the last one of a run is kept.
enum class SampleKind { per_step, window_mean, since_start_mean, ema };
template <>
struct EnumNames<SampleKind> {
  static constexpr std::array kNames{
      std::pair{SampleKind::per_step, "per_step"}, std::pair{SampleKind::window_mean, "window_mean"},
      std::pair{SampleKind::since_start_mean, "since_start_mean"}, std::pair{SampleKind::ema, "ema"}};
};

// A value that a program computes about itself by its own formula (tokens/s, FLOP/s, MFU) is a claim. Its metric has
// this prefix.
inline constexpr std::string_view kStatedPrefix = "stated.";

struct Sample {
  std::string metric;       // ends in its unit, as in metric_catalog.h: step_time_s
  std::int64_t step = 0;    // by the program's own count
  std::int64_t covers = 1;  // number of steps that the value averages; 0: the program does not tell
  double value = 0;         // may be NaN or infinite
  SampleKind kind = SampleKind::per_step;
  std::int64_t rank = 0;  // rank that printed it, if its prefix tells
  // the difference between two adjacent values that the program could print; 0: fine
  double resolution = 0;
  std::optional<std::int64_t> at_ns = {};  // monotonic time at which its line arrived

  bool operator==(const Sample&) const = default;

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"metric", "what was measured"}, self.metric);
    f(Field{"step", "step by the program's count", 0}, self.step);
    f(Field{"covers", "steps that the value is a mean over; 0: unknown", 0}.omitted_at_default(), self.covers);
    f(Field{"value", "in the unit of the metric"}, self.value);
    f(Field{"kind", "what the value is a mean over"}.omitted_at_default(), self.kind);
    f(Field{"rank", "rank that printed it", 0}.omitted_at_default(), self.rank);
    f(Field{"resolution", "step between two values that can be printed; 0: fine", 0.0}.omitted_at_default(),
      self.resolution);
    f(Field{"at_ns", "monotonic time of its line's arrival"}.omitted_at_default(), self.at_ns);
  }
};

}  // namespace perfbench::spec
