// Work that a device is told once and repeats by itself (a CUDA graph): the host's part of a step, hundreds of
// operations long, is then one call. Backends that compute at once execute the work as it stands, every time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/sharding/context.h"

namespace perfbench::engine {

class RecordedWork {
 public:
  // same_addresses: the work's operands lie where they lay, so a replay takes the host no work at all.
  // new_addresses: as one layer after another; the host goes through the work each time and the recording is updated.
  enum class Operands { same_addresses, new_addresses };
  explicit RecordedWork(Operands operands) : operands_(operands) {}

  // Executes `body`, the same sequence of operations at each call, which returns the memory it takes and reads nothing
  // back. The first call is not recorded: libraries choose their algorithms in it.
  void run(Context& context, const std::function<void()>& body);

 private:
  std::unique_ptr<Recording> record(Context& context, const std::function<void()>& body,
                                    std::unique_ptr<Recording> earlier);
  void replay(Context& context, Recording& recording);

  Operands operands_;
  bool executed_ = false;
  std::unique_ptr<Recording> untraced_;
  // That of traced work is made while a device's tracer learns names from it, which may slow down what it replays ever
  // after; so what nobody traces replays another.
  std::unique_ptr<Recording> traced_;
  // What the body counts, which a replay counts again.
  spec::FlopCounts flops_;
  std::vector<spec::AxisTraffic> traffic_;
  PhaseClock::Segment phases_;
};

}  // namespace perfbench::engine
