// How large a difference of a metric has to be to matter, unless a person says otherwise.
#pragma once

#include <optional>

#include "workloads/spec/metric_catalog.h"

namespace perfbench::harness {

// A fraction: 2 % of times and rates, 10 % of start-up (files, caches), 1 % of memory, 0.2 % of the final loss. Nothing
// for a metric without direction, or whose unit has no usual margin.
std::optional<double> usual_margin(const spec::MetricSpec& metric);

}  // namespace perfbench::harness
