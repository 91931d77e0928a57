// The copies of cuda_pipeline.h. They happen when they are waited for, and the source must still hold its values then.
// This comes before the toolkit's header on the include path.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "tests/engine/emulation/block.h"

namespace perfbench::emulation {

class PendingCopies {
 public:
  void add(void* to, const void* from, std::size_t bytes) {
    auto& groups = of_thread();
    groups.open.push_back({to, from, bytes});
  }
  void commit() {
    auto& groups = of_thread();
    groups.committed.push_back(std::move(groups.open));
    groups.open.clear();
  }
  // Completes all groups but the last ones.
  void land(std::size_t but_last) {
    auto& committed = of_thread().committed;
    for (; committed.size() > but_last; committed.pop_front()) {
      for (const auto& copy : committed.front()) std::memcpy(copy.to, copy.from, copy.bytes);
    }
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  struct Groups {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> committed;
  };
  Groups& of_thread() {
    const uint3& t = place.thread;
    return pending_[(t.z * place.block_size.y + t.y) * place.block_size.x + t.x];
  }
  std::map<unsigned, Groups> pending_;
};

inline PendingCopies pending_copies;

}  // namespace perfbench::emulation

inline void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes) {
  perfbench::emulation::require_aligned(shared, bytes);
  perfbench::emulation::require_aligned(global, bytes);
  perfbench::emulation::pending_copies.add(shared, global, bytes);
}
inline void __pipeline_commit() {
  perfbench::emulation::pending_copies.commit();
}
inline void __pipeline_wait_prior(std::size_t but_last) {
  perfbench::emulation::pending_copies.land(but_last);
}
