// libFuzzer: any words of a command line name a side, a margin or a fault, or give an error that a person can fix.
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/core/error.h"
#include "engine/faults/fault_text.h"
#include "harness/pairs/sides.h"
#include "harness/stats/verdict.h"
#include "harness/system/input_error.h"

namespace {

using namespace perfbench;

template <class Error, class Read>
void held_to(Read&& read) {
  try {
    read();
  } catch (const Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  held_to<harness::InputError>([&] {
    harness::parse_side(text, "/nowhere/perfbench-engine", [](const std::string& revision) { return revision; });
  });
  held_to<harness::InputError>([&] { harness::metric_rules({}, {text}); });
  held_to<harness::InputError>([&] { harness::metric_rules({text}, {}); });
  held_to<engine::BadInput>([&] {
    engine::FaultText fault(text);
    fault.take("span");
    fault.take_number("fraction", 0);
    fault.take_number("us");
    fault.finish();
  });
  return 0;
}
