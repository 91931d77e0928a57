// Work that a device records once and repeats by itself (a CUDA graph): the host's part of a step, hundreds of
// operations long, is then one call. Backends that compute at once simply execute the work every time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/sharding/context.h"

namespace perfbench::engine {

class RecordedWork {
 public:
  // same_addresses: the operands stay at their addresses, so a replay costs the host no work at all. new_addresses:
  // they move, as from one layer to the next; the host goes through the work each time and updates the recording.
  enum class Operands { same_addresses, new_addresses };
  explicit RecordedWork(Operands operands) : operands_(operands) {}

  // Executes `body`, which performs the same sequence of operations at each call, returns the memory it takes and reads
  // nothing back. The first call is not recorded, because libraries choose their algorithms in it.
  void run(Context& context, const std::function<void()>& body);

 private:
  std::unique_ptr<Recording> record(Context& context, const std::function<void()>& body,
                                    std::unique_ptr<Recording> earlier);
  void replay(Context& context, Recording& recording);

  Operands operands_;
  bool executed_ = false;
  std::unique_ptr<Recording> untraced_;
  // The recording for traced steps. It is made while a device's tracer learns names from it, which may slow down its
  // replays for ever; so untraced steps replay another one.
  std::unique_ptr<Recording> traced_;
  // The counts of the body, which a replay adds again.
  spec::FlopCounts flops_;
  std::vector<spec::AxisTraffic> traffic_;
  PhaseClock::Segment phases_;
};

}  // namespace perfbench::engine
