// Where tensors live: a device arena and a host arena under one ledger. A dry memory hands out offsets but has no
// bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/core/arena.h"
#include "engine/core/ledger.h"

namespace perfbench::engine {

// The bytes behind an arena. An implementation per backend: reserved CPU memory, a CUDA allocation, or nothing.
class ArenaBacking {
 public:
  virtual ~ArenaBacking() = default;
  // Address of `offset`; [offset, offset + bytes) is usable afterwards. nullptr: a dry backing. Throws OutOfMemory.
  virtual void* at(std::int64_t offset, std::int64_t bytes) = 0;
  // Tells that nobody reads or writes [offset, offset + bytes) until its next use: its contents may leave memory until
  // then.
  virtual void put_aside(std::int64_t /*offset*/, std::int64_t /*bytes*/) {}
};

// Anonymous memory that is reserved at once and touched on demand, so that addresses do not change while the arena
// grows.
std::unique_ptr<ArenaBacking> make_cpu_backing();
std::unique_ptr<ArenaBacking> make_dry_backing();
// Memory of an unnamed file in `folder`, created at the first allocation. A block that is put aside leaves this
// process's memory, and the kernel may write it to the file and reuse its pages. If `folder` is itself in memory
// (tmpfs) this gains nothing.
std::unique_ptr<ArenaBacking> make_file_backing(std::filesystem::path folder);

class Memory {
 public:
  struct Options {
    std::int64_t limit_bytes = 0;  // limit of the device arena's extent, 0 for no limit
  };
  Memory(std::unique_ptr<ArenaBacking> device, std::unique_ptr<ArenaBacking> host, Options options);

  struct Block {
    void* data = nullptr;  // nullptr in a dry memory
    std::int64_t offset = 0;
    MemoryLedger::Ticket ticket = {};
  };
  // entry.bytes is the requested size; the ledger enters it rounded up to Arena::kAlignment. Throws OutOfMemory with
  // the tensor's name, its shape and the largest live tensors.
  Block allocate(LedgerEntry entry);
  void release(const Block& block, MemoryScope scope, std::int64_t bytes);
  // Puts the block aside until its next use (ArenaBacking::put_aside).
  void put_aside(const Block& block, MemoryScope scope, std::int64_t bytes);

  const MemoryLedger& ledger() const { return ledger_; }
  std::int64_t device_extent_bytes() const { return device_arena_.extent(); }
  std::int64_t host_extent_bytes() const { return host_arena_.extent(); }

 private:
  std::unique_ptr<ArenaBacking> device_;
  std::unique_ptr<ArenaBacking> host_;
  Options options_;
  Arena device_arena_;
  Arena host_arena_;
  MemoryLedger ledger_;
};

}  // namespace perfbench::engine
