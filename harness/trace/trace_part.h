// The categories of time in a step, and the rules that sort operations and kernels into them by name.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "workloads/spec/enum_names.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::harness {

// In the order of precedence: where several run at once, a moment counts to the first. Computation comes before data
// movement, so that a collective counts only while nothing is computed: that time is exposed communication.
// Computations are ordered by their usual share of a step, the most expensive first.
enum class TracePart {
  gemm,
  attention,
  norm,
  elementwise,
  optimizer,
  other,  // computes, but no rule matches
  copy,
  collective,
  idle_dependency,  // nothing runs, and submitted work has not begun: it waits for other work
  idle_host         // nothing runs and nothing waits: the host has not submitted work
};
inline constexpr std::size_t kTraceParts = 10;

constexpr bool is_idle(TracePart part) {
  return part == TracePart::idle_dependency || part == TracePart::idle_host;
}

TracePart part_of(spec::TraceOp op);

// The part of an engine's span; nullopt for a name that the engine does not use.
std::optional<TracePart> part_of_span(spec::TraceKind kind, std::string_view name);

// The fallback for a kernel that belongs to no span of the engine: the names that libraries give to their kernels.
TracePart part_of_kernel(std::string_view demangled_name);

}  // namespace perfbench::harness

template <>
struct perfbench::spec::EnumNames<perfbench::harness::TracePart> {
  using P = perfbench::harness::TracePart;
  static constexpr std::array kNames{std::pair{P::gemm, "gemm"},
                                     std::pair{P::attention, "attention"},
                                     std::pair{P::norm, "norm"},
                                     std::pair{P::elementwise, "elementwise"},
                                     std::pair{P::optimizer, "optimizer"},
                                     std::pair{P::other, "other"},
                                     std::pair{P::copy, "copy"},
                                     std::pair{P::collective, "collective"},
                                     std::pair{P::idle_dependency, "idle_dependency"},
                                     std::pair{P::idle_host, "idle_host"}};
};
