// What follows from the step time of a run: model FLOP utilisation under a named definition (workloads/spec/flops.h),
// and how long its training takes.
#pragma once

#include <optional>

#include "workloads/spec/flops.h"

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
