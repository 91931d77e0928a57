// What a moment of a step is spent on, and how an operation or a kernel is sorted by its name.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "workloads/spec/enum_names.h"
#include "workloads/spec/trace_record.h"

namespace perfbench::harness {

// In the order of precedence: where several run at once, a moment counts to the first. Computation comes before what
// moves data, so that a collective counts only while nothing is computed: that time is exposed communication. Among
// computations the order is that of their share in a step, the most expensive unit first.
enum class TracePart {
  gemm,
  attention,
  norm,
  elementwise,
  optimizer,
  other,  // computes, and no rule says what
  copy,
  collective,
  idle_dependency,  // nothing runs, something was handed over that has not begun: it waits for other work
  idle_host         // nothing runs and nothing waits: the host has not said what to do
};
inline constexpr std::size_t kTraceParts = 10;

TracePart part_of(spec::TraceOp op);

// Of an engine's span; nothing for a name that it does not use.
std::optional<TracePart> part_of_span(spec::TraceKind kind, std::string_view name);

// The fallback for a kernel that belongs to no span of the engine: by what libraries call their kernels.
TracePart part_of_kernel(std::string_view demangled_name);

}  // namespace perfbench::harness
