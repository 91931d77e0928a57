#include "engine/core/error.h"
#include "engine/faults/faults.h"

namespace perfbench::engine {

std::unique_ptr<Faults> make_faults(const std::vector<std::string>& wanted, spec::Device) {
  if (wanted.empty()) return nullptr;
  throw BadInput("--inject " + wanted.front() +
                 ": this engine contains no faults; use perfbench-engine-inject, which is built beside it");
}

}  // namespace perfbench::engine
