// cuda_pipeline.h's copies. They land when they are waited for, at which moment the source must still hold its values.
// Stands before the toolkit's header on the include path.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "tests/engine/emulation/block.h"

namespace perfbench::emulation {

class PendingCopies {
 public:
  void add(void* to, const void* from, std::size_t bytes) { of_thread().push_back({to, from, bytes}); }
  void land() {
    for (const auto& copy : of_thread()) std::memcpy(copy.to, copy.from, copy.bytes);
    of_thread().clear();
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  std::vector<Copy>& of_thread() {
    const uint3& t = place.thread;
    return pending_[(t.z * place.block_size.y + t.y) * place.block_size.x + t.x];
  }
  std::map<unsigned, std::vector<Copy>> pending_;
};

inline PendingCopies pending_copies;

}  // namespace perfbench::emulation

inline void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes) {
  perfbench::emulation::require_aligned(shared, bytes);
  perfbench::emulation::require_aligned(global, bytes);
  perfbench::emulation::pending_copies.add(shared, global, bytes);
}
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(std::size_t) {
  perfbench::emulation::pending_copies.land();
}
