// The spans of the schedule lane that are open at a moment. They tell where in a step it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/spec/trace_record.h"

namespace perfbench::engine {

struct OpenSpan {
  spec::TraceKind kind = spec::TraceKind::op;
  std::string_view name;
};
using OpenSpans = std::vector<OpenSpan>;  // outermost first

// The outermost phase, because it says more: a wait for a collective is a phase within another one.
inline std::string_view phase_of(const OpenSpans& open) {
  for (const auto& [kind, name] : open) {
    if (kind == spec::TraceKind::phase) return name;
  }
  return spec::enum_name(spec::TracePhase::other);
}

// Such as "layers.3 recompute".
inline std::string range_of(const OpenSpans& open) {
  std::string out;
  for (const auto& [kind, name] : open) {
    if (kind == spec::TraceKind::range) out += (out.empty() ? "" : " ") + std::string(name);
  }
  return out;
}

}  // namespace perfbench::engine
