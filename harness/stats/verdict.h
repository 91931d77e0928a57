// Which metrics a comparison judges, and how large a difference has to be to matter.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/spec/enum_names.h"
#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

struct MetricRule {
  std::string metric;
  spec::Direction direction = spec::Direction::lower_is_better;  // not neutral
  double margin_fraction = 0.02;                                 // differences below it do not matter
  // measured: a test decides. counted, exact: where each side repeats its own value, no test is needed.
  spec::MetricNoise noise = spec::MetricNoise::measured;
  bool of_some_runs = false;  // one that no run of a cell has is not undecided
};

// Margin of a metric: 2 % of a time, 5 % of the mean step and the rates that are made of it (one long step in a hundred
// moves them), 10 % of the start-up (files, caches), 1 % of memory, 0.2 % of the loss (rounding in another order moves
// that of a short run by far less), 0.5 % of what an evaluation finds, 2 % of others.
// Throws InputError for an unknown or neutral metric, such as warmup_steps.
MetricRule metric_rule(const std::string& metric);

// Speed with and without stalls, memory, start-up and loss, and of runs that evaluate what that found: what a gate
// holds together.
inline constexpr std::array kGateMetrics{"step_time_s", "step_time_mean_s", "peak_memory_bytes", "startup_time_s",
                                         "final_loss",  "eval_accuracy",    "eval_perplexity"};

// What pairs are judged by unless told otherwise: those of a gate, and resident_bytes.
std::vector<MetricRule> default_metric_rules();

// `names`: keep these only, empty: all of the default ones.
// `margins`: "metric=0.03". Throws InputError for an unknown or neutral metric, and a margin outside (0, 1).
std::vector<MetricRule> metric_rules(const std::vector<std::string>& names, const std::vector<std::string>& margins);

// What a decision says.
enum class Verdict { regressed, improved, same, inconclusive, not_comparable };

enum class VerdictReason {
  significant,            // p < alpha, and not inside the margin
  equivalent,             // the 90 % interval of the ratio lies inside the margin
  too_few_runs,           // no outcome of the test could have decided
  not_significant,        // the test could have decided, but did not
  sessions_unknown,       // the sides are of other sessions, and how far those differ is not known
  sessions_too_close,     // the sides are farther apart in time than the sessions that are known
  machine_speed_changed,  // the noise probe ran at another speed on the two sides
  all_noisy,              // the probe moved during every run of a side
  no_measurement,         // a side has no run with this metric
  other_work,             // the sides do not compute the same
  other_machine,          // the sides ran on unlike machines
  no_baseline,            // the baseline holds nothing for this cell
  same_runs,              // the baseline is made of the very runs that are compared with it
  vanished,               // the baseline has a cell of this matrix that was not measured now
  false_discovery,        // significant alone, but not among all that were compared
  exact,                  // each side repeats its number: no test is needed
  one_sided_discards,     // the pairs left were chosen by what one side does to its own runs
  busy_while_waiting,     // threads of a side went on in the other side's steps
  side_failed,            // a side did not finish its runs, or they diverged
  futile,                 // the pairs that are left would hardly decide
  not_planned,            // pairs that find the difference that was asked for take too long, or cannot take turns
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct Decision {
  Verdict verdict = Verdict::inconclusive;
  VerdictReason reason = VerdictReason::no_measurement;
  std::string detail;                         // a sentence for a person
  std::optional<double> ratio;                // current / baseline, of geometric means
  std::optional<Interval> ratio_95;           // needs two runs a side
  std::optional<double> p;                    // of the test, where it could decide
  std::optional<double> detectable_fraction;  // the effect that this sample would have found with power 0.8
  std::size_t current_runs = 0;
  std::size_t baseline_runs = 0;
  std::optional<std::size_t> sessions;      // known beside those of the sides; nothing where sessions play no part
  std::optional<double> session_deviation;  // of their levels, log units
};

// Fills verdict, reason and detail.
void conclude(Decision& decision, Verdict verdict, VerdictReason reason, std::string detail);

// What a difference of this sign is for a metric of this direction. `direction` is not neutral.
Verdict direction_verdict(double log_ratio, spec::Direction direction);

// Of everything that was asked: REGRESSED if anything did; else INCONCLUSIVE if something is undecided, or nothing
// could be compared; else IMPROVED if anything did; else SAME.
Verdict overall(const std::vector<Verdict>& verdicts);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::Verdict> {
  using V = perfbench::harness::Verdict;
  static constexpr std::array kNames{std::pair{V::regressed, "REGRESSED"}, std::pair{V::improved, "IMPROVED"},
                                     std::pair{V::same, "SAME"}, std::pair{V::inconclusive, "INCONCLUSIVE"},
                                     std::pair{V::not_comparable, "NOT_COMPARABLE"}};
};
template <>
struct perfbench::spec::EnumNames<perfbench::harness::VerdictReason> {
  using R = perfbench::harness::VerdictReason;
  static constexpr std::array kNames{
      std::pair{R::significant, "significant"},
      std::pair{R::equivalent, "equivalent"},
      std::pair{R::too_few_runs, "too_few_runs"},
      std::pair{R::not_significant, "not_significant"},
      std::pair{R::sessions_unknown, "sessions_unknown"},
      std::pair{R::sessions_too_close, "sessions_too_close"},
      std::pair{R::machine_speed_changed, "machine_speed_changed"},
      std::pair{R::all_noisy, "all_noisy"},
      std::pair{R::no_measurement, "no_measurement"},
      std::pair{R::other_work, "other_work"},
      std::pair{R::other_machine, "other_machine"},
      std::pair{R::no_baseline, "no_baseline"},
      std::pair{R::same_runs, "same_runs"},
      std::pair{R::vanished, "vanished"},
      std::pair{R::false_discovery, "false_discovery"},
      std::pair{R::exact, "exact"},
      std::pair{R::one_sided_discards, "one_sided_discards"},
      std::pair{R::busy_while_waiting, "busy_while_waiting"},
      std::pair{R::side_failed, "side_failed"},
      std::pair{R::futile, "futile"},
      std::pair{R::not_planned, "not_planned"},
  };
};
