// Work that a device is told once and repeats by itself (a CUDA graph): the host's part of a step, hundreds of
// operations long, is then one call. Backends that compute at once execute the work as it stands, every time.
#pragma once

#include <functional>
#include <vector>

#include "engine/sharding/context.h"

namespace perfbench::engine {

class RecordedWork {
 public:
  // same_addresses: the work's operands lie where they lay, so a replay takes the host no work at all.
  // new_addresses: as one layer after another; the host goes through the work each time and the recording is updated.
  enum class Operands { same_addresses, new_addresses };
  RecordedWork(RecordingSlot slot, Operands operands) : slot_(slot), operands_(operands) {}

  // Executes `body`, the same sequence of operations at each call, which returns the memory it takes and reads nothing
  // back. The first call is not recorded: libraries choose their algorithms in it.
  void run(Context& context, const std::function<void()>& body);

 private:
  RecordingSlot slot(const Context& context) const;
  void record(Context& context, const std::function<void()>& body);
  void replay(Context& context);

  RecordingSlot slot_;  // unless traced
  Operands operands_;
  bool executed_ = false;
  // What the body counts, which a replay counts again.
  spec::FlopCounts flops_;
  std::vector<spec::AxisTraffic> traffic_;
  PhaseClock::Segment phases_;
};

}  // namespace perfbench::engine
