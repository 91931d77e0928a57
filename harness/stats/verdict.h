// Which metrics a comparison judges, and how large a difference of each must be to matter.
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
  double margin_fraction = 0.02;                                 // smaller differences do not matter
  // measured: a test decides. counted, exact: where each side repeats its own value, no test is needed.
  spec::MetricNoise noise = spec::MetricNoise::measured;
  bool of_some_runs = false;  // if no run of a cell has the metric, the cell is not undecided because of it
};

// The margin of a metric: 2 % of a time, 5 % of the mean step, of the rates that are derived from it, and of the 90th
// percentile (one long step in a hundred moves them), 10 % of the start-up (files, caches), 1 % of memory, 0.2 % of the
// loss (another order of rounding moves the loss of a short run by far less), 0.5 % of the results of an evaluation, 2
// % of others. Throws InputError for an unknown or neutral metric, such as warmup_steps.
MetricRule metric_rule(const std::string& metric);

// The metrics of the catalog of which one direction is better.
std::vector<std::string> judged_metrics();

// The metrics that a gate judges: speed with and without stalls, memory, start-up, loss, and the results of runs that
// evaluate. Runs of few steps have no 90th percentile.
inline constexpr std::array kGateMetrics{"step_time_s",    "step_time_mean_s", "step_time_p90_s", "peak_memory_bytes",
                                         "startup_time_s", "final_loss",       "eval_accuracy",   "eval_perplexity"};

// The default metrics of pairs: those of a gate, and resident_bytes.
std::vector<MetricRule> default_metric_rules();

// `names` selects metrics; if it is empty, all default ones are judged. `margins` has the form "metric=0.03". Throws
// InputError for an unknown or neutral metric, and for a margin outside (0, 1).
std::vector<MetricRule> with_margins(std::vector<MetricRule> rules, const std::vector<std::string>& margins);
std::vector<MetricRule> metric_rules(const std::vector<std::string>& names, const std::vector<std::string>& margins);

// The result of a decision.
enum class Verdict { regressed, improved, same, inconclusive, not_comparable };

enum class VerdictReason {
  significant,            // p < alpha, and not inside the margin
  equivalent,             // the 90 % interval of the ratio lies inside the margin
  too_few_runs,           // no possible outcome of the test could have decided
  not_significant,        // the test could have decided, but did not
  sessions_unknown,       // the sides have different sessions, and the spread between sessions is not known
  sessions_too_close,     // the known sessions cover fewer days than lie between the sides
  machine_speed_changed,  // the noise probe shows that the machine ran at another speed for the other side
  all_noisy,              // the probe moved during every run of a side
  no_measurement,         // a side has no run with this metric
  other_work,             // the sides do different work
  other_machine,          // the sides ran on different machines
  no_baseline,            // the baseline has no runs of this cell
  same_runs,              // the baseline consists of the runs that are compared with it
  vanished,               // the baseline has a cell of this matrix that this sweep did not measure
  false_discovery,        // significant alone, but not among all tests of the comparison
  exact,                  // each side repeats its number: no test is needed
  one_sided_discards,     // the remaining pairs were selected by an effect of one side on its own runs
  busy_while_waiting,     // threads of a side kept computing during the other side's steps
  side_failed,            // a side did not finish its runs, or they diverged
  futile,                 // the remaining pairs would hardly decide
  not_planned,            // the pairs that would find the requested difference take too long, or cannot take turns
};

struct Interval {
  double low = 0;
  double high = 0;
};

struct Decision {
  Verdict verdict = Verdict::inconclusive;
  VerdictReason reason = VerdictReason::no_measurement;
  std::string detail;                         // a sentence for the reader
  std::optional<double> ratio;                // current / baseline, of geometric means
  std::optional<Interval> ratio_95;           // needs two runs a side
  std::optional<double> p;                    // of the test, where it could decide
  std::optional<double> detectable_fraction;  // the smallest effect that this sample would have found with power 0.8
  std::size_t current_runs = 0;
  std::size_t baseline_runs = 0;
  std::optional<std::size_t>
      sessions;  // number of known sessions beside those of the sides; nullopt where sessions do not matter
  std::optional<double> session_deviation;  // standard deviation of their levels, log units
};

// Fills verdict, reason and detail.
void conclude(Decision& decision, Verdict verdict, VerdictReason reason, std::string detail);

// The verdict for a difference of this sign in a metric of this direction, which must not be neutral.
Verdict direction_verdict(double log_ratio, spec::Direction direction);

// The verdict over everything that was compared: REGRESSED if anything regressed; else INCONCLUSIVE if something is
// undecided, or nothing could be compared; else IMPROVED if anything improved; else SAME.
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
