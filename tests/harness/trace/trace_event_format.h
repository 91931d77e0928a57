// Checks whether a text follows the Trace Event Format and Perfetto accepts it. Has its own rules and shares no code
// with the exporter.
#pragma once

#include <string>
#include <vector>

namespace perfbench::harness {

// The errors, one line each, by the number of the event; empty if there are none.
//
// Rules: "Trace Event Format" (Google, 2016), and from Perfetto's src/trace_processor: importers/json/json_trace_parser
// (pid and tid are integers of 32 bits, names of metadata are texts, an arrow's id is an integer, or hexadecimal digits
// if it is a text), json_trace_utils (nanoseconds are the product with 1000, truncated), importers/common/slice_tracker
// (spans of a thread nest: overlapping ones are dropped) and flow_tracker (an arrow begins once and ends after that,
// each time within a span of its thread that has begun before it in the file's order by time).
std::vector<std::string> trace_event_faults(const std::string& text);

}  // namespace perfbench::harness
