#include "engine/sharding/recorded_work.h"

#include <utility>

namespace perfbench::engine {

void RecordedWork::run(Context& context, const std::function<void()>& body) {
  if (!context.ops.records() || context.recordings == Recordings::unused || !executed_) {
    executed_ = true;
    body();
    return;
  }
  auto& recording = context.recordings == Recordings::traced ? traced_ : untraced_;
  if (recording != nullptr && operands_ == Operands::same_addresses) {
    replay(context, *recording);
  } else {
    recording = record(context, body, std::move(recording));
  }
  if (!traffic_.empty()) context.collectives.watch_replay();
}

std::unique_ptr<Recording> RecordedWork::record(Context& context, const std::function<void()>& body,
                                                std::unique_ptr<Recording> earlier) {
  const auto flops_before = context.ops.flops();
  const auto traffic_before = context.collectives.traffic();
  const auto moment = context.clock.moment();
  context.ops.reset_flops();
  context.collectives.reset_traffic();
  context.ops.begin_recording();
  body();
  auto recording = context.ops.end_recording(std::move(earlier));
  flops_ = context.ops.flops();
  traffic_ = context.collectives.traffic();
  phases_ = context.clock.since(moment);
  context.ops.add_flops(flops_before);
  context.collectives.add_traffic(traffic_before);
  return recording;
}

void RecordedWork::replay(Context& context, Recording& recording) {
  recording.replay();
  context.ops.add_flops(flops_);
  context.collectives.add_traffic(traffic_);
  context.clock.repeat(phases_);
}

}  // namespace perfbench::engine
