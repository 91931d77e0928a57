// The ranks of a group of the mesh, and the exchange of bytes between them. Every call is made by all ranks of the
// group in the same order. It returns when this rank's buffers are ready and may be reused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/core/bf16.h"
#include "workloads/spec/divide_up.h"

namespace perfbench::engine {

class RankGroup {
 public:
  virtual ~RankGroup() = default;

  // full[j] = the shard of rank j. The shard may lie at its own place in full.
  virtual void all_gather(std::span<std::byte> full, std::span<const std::byte> shard) = 0;
  // Equal parts by rank: part j of `in` goes to rank j, part j of `out` comes from it. The buffers do not overlap.
  virtual void all_to_all(std::span<std::byte> out, std::span<const std::byte> in) = 0;
  // shard[i] = full_0[at + i] + full_1[at + i] + ... in the order of the ranks' indices, where at = index *
  // shard.size(). The shard may lie at its own place in full; no other part of full is written.
  virtual void reduce_scatter(std::span<float> shard, std::span<const float> full) = 0;
  virtual void reduce_scatter(std::span<Bf16> shard, std::span<const Bf16> full) = 0;
  // The same sum of the whole buffer, in place, on every rank.
  virtual void all_reduce(std::span<float> buffer) = 0;
  virtual void all_reduce(std::span<Bf16> buffer) = 0;
  virtual void all_reduce(std::span<double> buffer) = 0;
};

// The part of a buffer that one rank reduces: equal parts, the last ones shorter or empty.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};
constexpr Piece piece_of(std::int64_t elements, std::int64_t ranks, std::int64_t index) {
  constexpr std::int64_t kRun = 64;  // whole cache lines, so that no two ranks write to the same one
  const std::int64_t part = spec::divide_up(spec::divide_up(elements, ranks), kRun) * kRun;
  const std::int64_t begin = std::min(elements, index * part);
  return {begin, std::min(elements, begin + part) - begin};
}

}  // namespace perfbench::engine
