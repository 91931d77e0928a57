// Reduces the samples as they arrived to the samples that count: one for each step and metric, without the steps that
// the program is known to time wrongly. A pure function, so that ingest computes the same from samples.jsonl as the
// adapter did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/spec/program_spec.h"
#include "workloads/spec/sample.h"

namespace perfbench::readers {

struct SettleRules {
  std::int64_t drop = 0;   // number of first steps after each start whose times do not count
  std::int64_t steps = 0;  // the requested number; 0: not declared
  spec::Restarts restarts = spec::Restarts::refused;
};

// From the declarations of a program, and from the known mistakes of its reader. Throws ReaderError for an unknown
// reader.
SettleRules settle_rules(const spec::ProgramSpec& program);

// Whether the reader of the program, or that of one of its files, says ReaderInfo::warms_up. Throws ReaderError.
bool warms_up(const spec::ProgramSpec& program);

struct Settled {
  std::vector<spec::Sample> samples;  // by metric, then step; without times of dropped steps
  std::vector<spec::Sample>
      run_values;                 // the last since_start_mean and ema of each metric, which never form a distribution
  std::int64_t steps = 0;         // steps that the program took, according to its records
  std::int64_t log_interval = 1;  // steps from one record to the next
  std::int64_t restarts = 0;      // how many times the step number fell
  std::optional<std::int64_t> lost_loss_at;  // first step whose loss is not a finite number
  bool has_times = false;                    // whether there are step times
  bool times_of_arrival = false;             // step times are computed from the arrival of lines
  double time_resolution_fraction = 0;       // resolution over the median step time
  std::string quarantine;                    // why the numbers do not describe one whole run; empty if they do
  std::vector<std::string> notes;
};

Settled settle(const std::vector<spec::Sample>& samples, const SettleRules& rules);

// The mean step time. A sample that covers n steps counts n times. 0 without step times.
double mean_step_time_s(const Settled& settled);

}  // namespace perfbench::readers
