// Summaries of traced steps as text.
#pragma once

#include <string>
#include <vector>

#include "harness/trace/trace_summary.h"

namespace perfbench::harness {

// For people: a row per rank and step, parts in percent of the step, and what to know about them.
std::string summary_table(const std::vector<TraceSummary>& summaries);
// For programs: every field of TraceSummary, nanoseconds.
std::string summary_csv(const std::vector<TraceSummary>& summaries);
std::string summary_json(const std::vector<TraceSummary>& summaries);

// How the traced steps differ from timed ones, in sentences; empty when they do not.
std::string summary_notes(const std::vector<RankTrace>& traces);

}  // namespace perfbench::harness
