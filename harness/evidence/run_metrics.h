// Values that follow from the step time of a run: its model FLOP utilisation under a named definition
// (workloads/spec/flops.h), and the duration of its training.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/evidence/step_statistics.h"
#include "workloads/spec/flops.h"
#include "workloads/spec/gpu_sample.h"
#include "workloads/spec/run_summary.h"
#include "workloads/spec/step_record.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

// `peak_flops_per_s` is the peak of one device.
double mfu_fraction(const spec::RunSpec& run, double step_time_s, double peak_flops_per_s,
                    spec::FlopDefinition definition);

// The duration of all training_steps at this step time, without pauses. nullopt for a run that does not say how many
// training steps it has.
std::optional<double> estimated_days(const spec::RunSpec& run, double step_time_s);

// The time of each step that every rank finished and none traced, in order. A step of the run takes as long as its
// slowest rank.
std::vector<double> step_times_s(const std::vector<spec::StepRecord>& steps);

// `steps` are sorted by rank, then step. Steps that some rank did not finish are left out, and traced steps are left
// out of times; medians and means are over the steady steps (steady.h). MFU is not included: it needs a definition and
// a peak, and is computed where it is shown. Empty if there is no complete step. `gpus` are the samples of all ranks.
std::vector<MetricValue> run_metrics(const spec::RunSpec& run, const std::vector<spec::StepRecord>& steps,
                                     const std::optional<spec::RunSummary>& summary,
                                     const std::vector<spec::GpuSample>& gpus = {});

}  // namespace perfbench::harness
