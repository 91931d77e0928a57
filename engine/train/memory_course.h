// The memory alive over a step, as a curve: sampled at every beginning and end of a span, so whenever something is
// computed or sent. If there are too many samples, the larger of two neighbours is kept, so that no peak is lost.
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
  static constexpr std::size_t kMost = 512;  // samples; longer steps have at least half as many

  // Watches from construction to destruction, between steps.
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
      samples_[i] = left.bytes >= right.bytes ? left : right;  // a copy: for i = 0, left is the destination itself
    }
    samples_.resize(kMost / 2);
    stride_ *= 2;  // still divides the number of the next look, because kMost is even
  }

  Context& context_;
  OpenSpans open_;
  std::int64_t looks_ = 0;
  std::int64_t stride_ = 1;  // looks per sample
  std::vector<spec::MemorySample> samples_;
};

}  // namespace perfbench::engine
