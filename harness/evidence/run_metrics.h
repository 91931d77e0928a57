// What follows from the step time of a run: model FLOP utilisation under a named definition (workloads/spec/flops.h),
// and how long its training takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/spec/flops.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/step_record.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

// `peak_flops_per_s` of one device.
double mfu_fraction(const spec::RunSpec& run, double step_time_s, double peak_flops_per_s,
                    spec::FlopDefinition definition);

// All training_steps at this step time, without pauses. Nothing for a run that does not say how many they are.
std::optional<double> estimated_days(const spec::RunSpec& run, double step_time_s);

}  // namespace perfbench::harness

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

// The numbers about a whole attempt, all from its step records: the one place that derives them.
struct MetricValue {
  std::string metric;  // tag of the metric catalog
  double value = 0;
};

// Of each step that every rank finished and none traced, in order: a step of the run takes as long as its slowest rank.
std::vector<double> step_times_s(const std::vector<spec::StepRecord>& steps);

// `steps` by rank, then step. Steps that not every rank finished are left out, of times also those that were traced;
// medians and means are over the steady ones (steady.h). MFU is not among them: it needs a definition and a peak, and
// is computed where it is shown. Empty without a complete step.
std::vector<MetricValue> run_metrics(const spec::RunSpec& run, const std::vector<spec::StepRecord>& steps,
                                     const std::optional<spec::RunSummary>& summary);

}  // namespace perfbench::harness
