#include "engine/core/memory.h"

#include "engine/core/error.h"
#include "engine/core/reserved_range.h"
#include "workloads/spec/memory_record.h"

namespace perfbench::engine {
namespace {

// Pages are allocated on first touch, so the resident memory is what was used.
class CpuBacking : public ArenaBacking {
 public:
  CpuBacking() {
    range_.advise(0, range_.bytes(), MADV_HUGEPAGE);
  }  // fewer page faults and TLB misses; the kernel may refuse
  void* at(std::int64_t offset, std::int64_t bytes) override { return range_.at(offset, bytes); }

 private:
  ReservedRange range_{MAP_PRIVATE | MAP_ANONYMOUS, -1};
};

class DryBacking : public ArenaBacking {
 public:
  void* at(std::int64_t, std::int64_t) override { return nullptr; }
};

std::string out_of_memory_text(const LedgerEntry& entry, std::int64_t needed, std::int64_t limit,
                               const MemoryLedger& ledger) {
  std::string text = "out of memory: '" + entry.name + "' " + std::string(dtype_name(entry.dtype)) +
                     to_string(entry.shape) + " (" + std::to_string(entry.bytes) + " bytes, " +
                     std::string(scope_name(entry.scope)) + ") would need an arena of " + std::to_string(needed) +
                     " bytes, the limit is " + std::to_string(limit) + "; largest live tensors:";
  constexpr std::size_t kShown = 5;
  const auto live = ledger.live();
  for (std::size_t i = 0; i < live.size() && i < kShown; ++i) {
    text += " " + live[i].name + " " + live[i].shape + " " + std::to_string(live[i].bytes);
  }
  return text;
}

}  // namespace

std::unique_ptr<ArenaBacking> make_cpu_backing() {
  return std::make_unique<CpuBacking>();
}
std::unique_ptr<ArenaBacking> make_dry_backing() {
  return std::make_unique<DryBacking>();
}

Memory::Memory(std::unique_ptr<ArenaBacking> device, std::unique_ptr<ArenaBacking> host, Options options)
    : device_(std::move(device)), host_(std::move(host)), options_(options) {}

Memory::Block Memory::allocate(LedgerEntry entry) {
  const bool on_host = entry.scope == MemoryScope::host;
  Arena& arena = on_host ? host_arena_ : device_arena_;
  ArenaBacking& backing = on_host ? *host_ : *device_;
  entry.bytes = Arena::rounded(entry.bytes);
  const std::int64_t offset = arena.allocate(entry.bytes);
  if (!on_host && options_.limit_bytes > 0 && arena.extent() > options_.limit_bytes) {
    throw OutOfMemory(out_of_memory_text(entry, arena.extent(), options_.limit_bytes, ledger_));
  }
  Block block;
  block.offset = offset;
  block.data = backing.at(offset, entry.bytes);
  block.ticket = ledger_.enter(std::move(entry));
  return block;
}

void Memory::release(const Block& block, MemoryScope scope, std::int64_t bytes) {
  ledger_.leave(block.ticket);
  (scope == MemoryScope::host ? host_arena_ : device_arena_).release(block.offset, bytes);
  put_aside(block, scope, bytes);
}

void Memory::put_aside(const Block& block, MemoryScope scope, std::int64_t bytes) {
  (scope == MemoryScope::host ? *host_ : *device_).put_aside(block.offset, bytes);
}

}  // namespace perfbench::engine
