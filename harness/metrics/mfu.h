// Model FLOP utilisation of a run under a named definition (workloads/spec/flops.h).
#pragma once

#include "workloads/spec/flops.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::harness {

// `peak_flops_per_s` of one device.
double mfu_fraction(const spec::RunSpec& run, double step_time_s, double peak_flops_per_s,
                    spec::FlopDefinition definition);

}  // namespace perfbench::harness
