// A run's trace in the Trace Event Format, which chrome://tracing and Perfetto (ui.perfetto.dev) display.
#pragma once

#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"

namespace perfbench::harness {

// Processes are ranks and threads are lanes. Times are in microseconds since the earliest event. Events are sorted by
// start; of two that begin together the longer one comes first. An arrow joins a call or submission to the work that it
// started. Source: "Trace Event Format", Google, 2016, as Perfetto reads it (src/trace_processor/importers/json):
// numbers of arrows are integers, and times are multiplied by 1000 and truncated.
std::string chrome_json(const std::vector<RankTrace>& traces);

}  // namespace perfbench::harness
