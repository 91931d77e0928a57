// How much is alive over a step, as a line: at every beginning and end of a span, which is whenever something is
// computed or sent. Of very many the largest of neighbours, so that no peak is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/sharding/context.h"
#include "engine/trace/open_spans.h"
#include "workloads/spec/peak_report.h"

namespace perfbench::engine {

class MemoryCourse : public TraceSink {
 public:
  static constexpr std::size_t kMost = 512;  // samples; of longer steps at least half as many

  // Watches from now to its end, between steps.
  explicit MemoryCourse(Context& context) : context_(context) { context_.set_trace(this); }
  ~MemoryCourse() override { context_.set_trace(nullptr); }
  MemoryCourse(const MemoryCourse&) = delete;
  MemoryCourse& operator=(const MemoryCourse&) = delete;

  void begin(TraceLane lane, const TraceSpan& span, std::int64_t) override {
    look();
    if (lane == TraceLane::schedule) open_.push_back({span.kind, span.name});
  }
  void end(TraceLane lane, std::int64_t) override {
    look();
    if (lane == TraceLane::schedule) open_.pop_back();
  }

  const std::vector<spec::MemorySample>& samples() const { return samples_; }

 private:
  void look() {
    const auto at = looks_++;
    const auto bytes = context_.memory.ledger().live_bytes();
    const bool is_new = at % stride_ == 0;
    if (!is_new && bytes <= samples_.back().bytes) return;
    if (is_new && samples_.size() == kMost) halve();
    if (is_new) samples_.emplace_back();
    samples_.back() = {.at = at, .phase = std::string(phase_of(open_)), .range = range_of(open_), .bytes = bytes};
  }

  void halve() {
    for (std::size_t i = 0; i < kMost / 2; ++i) {
      const auto& left = samples_[2 * i];
      const auto& right = samples_[2 * i + 1];
      samples_[i] = left.bytes >= right.bytes ? left : right;  // a copy: the first is itself
    }
    samples_.resize(kMost / 2);
    stride_ *= 2;  // which divides the next look's number, as kMost is even
  }

  Context& context_;
  OpenSpans open_;
  std::int64_t looks_ = 0;
  std::int64_t stride_ = 1;  // looks to a sample
  std::vector<spec::MemorySample> samples_;
};

}  // namespace perfbench::engine
