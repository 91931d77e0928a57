// Records spans into memory that was reserved before the step. Spans beyond that memory are counted and dropped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/trace/trace_sink.h"

namespace perfbench::engine {

inline constexpr std::size_t kTraceLanes = 2;

// The number of spans in one step, by lane.
using SpanCounts = std::array<std::size_t, kTraceLanes>;

class TraceRecorder : public TraceSink {
 public:
  explicit TraceRecorder(const SpanCounts& capacity);

  void begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) override;
  void end(TraceLane lane, std::int64_t at_ns) override;

  // The spans closed since the last call, lane by lane in the order of their beginning, as events of `rank` and `step`.
  // Call it between steps: no lane may be in use, and other threads that record must have been waited for. The memory
  // is reused.
  std::vector<spec::TraceEvent> take(std::int64_t rank, std::int64_t step);
  // Buffers used in all steps.
  std::int64_t buffers() const { return buffers_; }
  std::int64_t dropped() const;

 private:
  struct Record {
    TraceSpan span;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
  };
  // A lane has its own cache lines, because different threads write the lanes.
  struct alignas(64) Lane {
    std::size_t capacity = 0;
    std::vector<Record> records;
    std::vector<std::size_t> open;  // indices of records; the capacity for a dropped one
    std::int64_t dropped = 0;
  };
  Lane& lane(TraceLane which) { return lanes_[static_cast<std::size_t>(which)]; }

  std::array<Lane, kTraceLanes> lanes_;
  std::int64_t buffers_ = 0;
};

// Counts the spans of a step, to size a recorder.
class SpanCounter : public TraceSink {
 public:
  void begin(TraceLane lane, const TraceSpan& span, std::int64_t at_ns) override;
  void end(TraceLane, std::int64_t) override {}
  const SpanCounts& counts() const { return counts_; }

 private:
  SpanCounts counts_{};
};

}  // namespace perfbench::engine
