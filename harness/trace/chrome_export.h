// A run's trace in the Trace Event Format, which chrome://tracing and Perfetto (ui.perfetto.dev) show.
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"

namespace perfbench::harness {

// Processes are ranks, threads are lanes; times in microseconds from the earliest event, by their beginning, and of two
// that begin together the longer one first. What a call or a submission started is joined to it by an arrow. Source:
// "Trace Event Format", Google, 2016, as Perfetto reads it (src/trace_processor/importers/json): numbers of arrows are
// whole, and times are multiplied by 1000 and cut off.
std::string chrome_json(const std::vector<RankTrace>& traces);

}  // namespace perfbench::harness
