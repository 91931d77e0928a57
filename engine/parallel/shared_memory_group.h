// Ranks of one node that pass data through shared memory, chunk by chunk. Waiting ranks sleep (a futex) and leave their
// core to the computation, where an MPI library would spin.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "engine/parallel/rank_group.h"

namespace perfbench::engine {

class SharedMemoryGroup : public RankGroup {
 public:
  // two slots of all ranks fit into a second-level cache
  static constexpr std::int64_t kSlotBytes = std::int64_t{1} << 19;
  static constexpr std::int64_t kSlots = 2;
  static constexpr std::int64_t kHeaderBytes = 128;  // two cache lines, so that no neighbour's counter shares them
  static constexpr std::int64_t kAreaBytes = kHeaderBytes + kSlots * kSlotBytes;

  // Each rank prepares its own area of kAreaBytes, aligned to 64 bytes, before any rank constructs its group.
  static void prepare(std::byte* area);
  // `areas` are those of all ranks in the order of their index, mapped into this process.
  SharedMemoryGroup(std::vector<std::byte*> areas, std::int64_t index);

  void all_gather(std::span<std::byte> full, std::span<const std::byte> shard) override;
  void all_to_all(std::span<std::byte> out, std::span<const std::byte> in) override;
  void reduce_scatter(std::span<float> shard, std::span<const float> full) override {
    reduce_pieces(shard.data(), full.data(), std::ssize(full), std::ssize(shard));
  }
  void reduce_scatter(std::span<Bf16> shard, std::span<const Bf16> full) override {
    reduce_pieces(shard.data(), full.data(), std::ssize(full), std::ssize(shard));
  }
  void all_reduce(std::span<float> buffer) override { reduce_everywhere(buffer); }
  void all_reduce(std::span<Bf16> buffer) override { reduce_everywhere(buffer); }
  void all_reduce(std::span<double> buffer) override { reduce_everywhere(buffer); }

 private:
  struct Header {
    std::atomic<std::uint32_t> epoch;     // chunks that this rank has published
    std::atomic<std::uint32_t> sleepers;  // ranks that sleep until it publishes more
  };

  std::int64_t ranks() const { return static_cast<std::int64_t>(areas_.size()); }
  Header& header(std::int64_t rank) const;
  std::byte* slot(std::int64_t rank) const;
  // A slot holds a chunk for each rank, in whole cache lines.
  std::int64_t chunk_bytes() const { return kSlotBytes / ranks() / 64 * 64; }

  template <class T>
  void reduce_pieces(T* out, const T* full, std::int64_t elements, std::int64_t piece_elements);
  void gather_pieces(std::byte* full, const std::byte* own, std::int64_t bytes, std::int64_t piece_bytes);
  template <class T>
  void reduce_everywhere(std::span<T> buffer);
  // Publishes what this rank wrote into its slot and waits until every rank has done so.
  void publish_and_meet();
  void next_slot() { slot_index_ = (slot_index_ + 1) % kSlots; }

  std::vector<std::byte*> areas_;
  std::int64_t index_;
  std::int64_t slot_index_ = 0;
  std::uint32_t epoch_ = 0;
};

}  // namespace perfbench::engine
