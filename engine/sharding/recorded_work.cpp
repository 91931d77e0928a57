#include "engine/sharding/recorded_work.h"

namespace perfbench::engine {

void RecordedWork::run(Context& context, const std::function<void()>& body) {
  if (!context.ops.records() || context.recordings == Recordings::unused || !executed_) {
    executed_ = true;
    body();
    return;
  }
  if (context.ops.holds_recording(slot(context)) && operands_ == Operands::same_addresses) {
    replay(context);
  } else {
    record(context, body);
  }
  if (!traffic_.empty()) context.collectives.watch_replay();
}

RecordingSlot RecordedWork::slot(const Context& context) const {
  return context.recordings == Recordings::traced ? traced(slot_) : slot_;
}

void RecordedWork::record(Context& context, const std::function<void()>& body) {
  const auto flops_before = context.ops.flops();
  const auto traffic_before = context.collectives.traffic();
  const auto moment = context.clock.moment();
  context.ops.reset_flops();
  context.collectives.reset_traffic();
  context.ops.begin_recording();
  body();
  context.ops.end_recording(slot(context));
  flops_ = context.ops.flops();
  traffic_ = context.collectives.traffic();
  phases_ = context.clock.since(moment);
  context.ops.add_flops(flops_before);
  context.collectives.add_traffic(traffic_before);
}

void RecordedWork::replay(Context& context) {
  context.ops.replay_recording(slot(context));
  context.ops.add_flops(flops_);
  context.collectives.add_traffic(traffic_);
  context.clock.repeat(phases_);
}

}  // namespace perfbench::engine
