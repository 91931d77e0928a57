// Whether a text is what the Trace Event Format says and Perfetto takes, by rules of its own: it knows no exporter.
#pragma once

#include <string>
#include <vector>

namespace perfbench::harness {

// What is wrong with it, a line each, by the number of the event; empty: nothing is.
//
// Rules: "Trace Event Format" (Google, 2016), and of Perfetto's src/trace_processor: importers/json/json_trace_parser
// (pid and tid are whole and fit 32 bits, names of metadata are texts, an arrow's id is whole, or hexadecimal digits
// where it is a text), json_trace_utils (nanoseconds are the product with 1000, cut off),
// importers/common/slice_tracker (spans of a thread nest: what overlaps is dropped) and flow_tracker (an arrow begins
// once, ends after that, each time within a span of its thread that has begun before it in the file's order by time).
std::vector<std::string> trace_event_faults(const std::string& text);

}  // namespace perfbench::harness
