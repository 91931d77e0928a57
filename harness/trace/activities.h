// What ran when: the events of a rank's trace as intervals of parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/evidence/trace_file.h"
#include "harness/trace/trace_part.h"

namespace perfbench::harness {

struct Activity {
  TracePart part = TracePart::other;
  std::string name;   // the engine's, of the operation or collective; the kernel's own where no span is known
  std::string phase;  // that it was computed in, or handed over in; empty outside of phases
  std::string range;  // parts of the model, outermost first, that handed it over; of replayed work none is known
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t submitted_ns = 0;  // when the call that handed it over had returned; start_ns where none is known
};

// Everything that executed (trace_record.h says what does). A kernel's part is that of the engine's span in which it
// was submitted, found by its correlation; else that of the span in which it lies; else that of its own name as an
// operation; else what its kernel's name says. What an optimizer phase computes elementwise is the optimizer's.
std::vector<Activity> activities(const RankTrace& trace);

}  // namespace perfbench::harness
