// From the samples as they came to the samples that count: one for each step and metric, without the steps that the
// program is known to time wrongly. A pure function, so that ingest makes the same of samples.jsonl as the adapter did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/spec/program_spec.h"
#include "workloads/spec/sample.h"

namespace perfbench::readers {

struct SettleRules {
  std::int64_t drop = 0;   // first steps after each start whose times do not count
  std::int64_t steps = 0;  // wanted; 0: not declared
  spec::Restarts restarts = spec::Restarts::refused;
};

struct Settled {
  std::vector<spec::Sample> samples;         // by metric, then step; times of dropped steps are not in it
  std::vector<spec::Sample> run_values;      // the last since_start_mean and ema of each metric: never a distribution
  std::int64_t steps = 0;                    // taken, as far as records say
  std::int64_t log_interval = 1;             // steps from one record to the next
  std::int64_t restarts = 0;                 // times that the step number fell
  std::optional<std::int64_t> lost_loss_at;  // first step whose loss is no finite number
  bool has_times = false;                    // there are step times
  bool times_of_arrival = false;             // they are made of when lines arrived
  double time_resolution_fraction = 0;       // of the median step time
  std::string quarantine;                    // why the numbers are not those of one whole run; empty: they are
  std::vector<std::string> notes;
};

Settled settle(const std::vector<spec::Sample>& samples, const SettleRules& rules);

// Of the step times: a sample that covers n steps counts n times. 0 without any.
double mean_step_time_s(const Settled& settled);

}  // namespace perfbench::readers
