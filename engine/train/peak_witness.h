// Finds when the sum of a rank's memory peaks: at every beginning and end of a phase and of a part of the model it
// checks whether the peak has grown since, within the spans open until then.
#pragma once

#include <string>
#include <vector>

#include "engine/sharding/context.h"
#include "engine/trace/open_spans.h"
#include "workloads/spec/peak_report.h"

namespace perfbench::engine {

class PeakWitness : public TraceSink {
 public:
  // Watches from construction to destruction, between steps. Memory that is already alive has peaked in `before`.
  PeakWitness(Context& context, std::string_view before) : context_(context), open_{{spec::TraceKind::phase, before}} {
    look();
    open_.clear();
    context_.trace = this;
    context_.clock.set_trace(this);
  }
  ~PeakWitness() override {
    context_.trace = nullptr;
    context_.clock.set_trace(nullptr);
  }
  PeakWitness(const PeakWitness&) = delete;
  PeakWitness& operator=(const PeakWitness&) = delete;

  // From here on the work belongs not to a step but to `phase`, whatever phases it has itself.
  void enter(std::string_view phase) { open_.push_back({spec::TraceKind::phase, phase}); }

  void begin(TraceLane, const TraceSpan& span, std::int64_t) override {
    look();
    open_.push_back({span.kind, span.name});
  }
  void end(TraceLane, std::int64_t) override {
    look();
    open_.pop_back();
  }

  spec::PeakMoment moment() {
    look();
    moment_.tensor = context_.memory.ledger().last_at_peak();
    return moment_;
  }

 private:
  void look() {
    const auto peak = context_.memory.ledger().peak_bytes();
    if (peak == seen_bytes_) return;
    seen_bytes_ = peak;
    moment_ = {.phase = std::string(phase_of(open_)), .range = range_of(open_), .tensor = {}};
  }

  Context& context_;
  OpenSpans open_;
  std::int64_t seen_bytes_ = 0;
  spec::PeakMoment moment_;
};

}  // namespace perfbench::engine
