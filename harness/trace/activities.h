// The timeline of a rank: the events of its trace as intervals of parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/trace/trace_part.h"

namespace perfbench::harness {

struct Activity {
  TracePart part = TracePart::other;
  std::string name;   // the engine's name of the operation or collective; the name of the kernel if no span is known
  std::string phase;  // in which it was computed or submitted; empty outside of phases
  std::string range;  // the parts of the model that submitted it, outermost first; unknown for replayed work
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t submitted_ns = 0;  // when the call that submitted it had returned; start_ns if that call is unknown
  // For a collective or a message: TraceEvent::axis and heading, and the moment from which the other ranks do not wait
  // for this one. That is its start; a message of the host is under way since its submission began, and its span is the
  // wait for it.
  std::string axis;
  std::string heading;
  std::int64_t entered_ns = 0;
};

// All events that executed (trace_record.h defines which those are). The part of a kernel comes from the first of these
// that is known: the engine's span that submitted it, found by its correlation; the span in which it lies; its own
// name, taken as an operation; its name, taken as a kernel of a library. Elementwise work in an optimizer phase belongs
// to the optimizer.
std::vector<Activity> activities(const RankTrace& trace);
// The events of one step alone.
std::vector<Activity> activities(const RankTrace& trace, std::int64_t step);

}  // namespace perfbench::harness
