// The arrangement of a run's devices. There are two levels, ici (inside a node) and dcn (across nodes), each the
// product of five axes. A device's rank is row-major over (dcn.pp, dcn.dp, dcn.fsdp, dcn.ep, dcn.tp, ici.pp, ici.dp,
// ici.fsdp, ici.ep, ici.tp), so that tp neighbours are nearest and dcn axes are farthest.
#pragma once

#include <cstdint>

#include "workloads/spec/fields.h"

namespace perfbench::spec {

struct MeshAxes {
  std::int64_t dp = 1;    // data parallel: weights replicated, gradients all-reduced
  std::int64_t fsdp = 1;  // fully sharded: weights, gradients and optimizer states sharded, gathered per layer
  std::int64_t tp = 1;    // tensor parallel: heads and FFN split
  std::int64_t ep = 1;    // expert parallel
  std::int64_t pp = 1;    // pipeline parallel

  constexpr std::int64_t size() const { return dp * fsdp * tp * ep * pp; }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"dp", "data parallel", 1, 1e6}, self.dp);
    f(Field{"fsdp", "fully sharded data parallel", 1, 1e6}, self.fsdp);
    f(Field{"tp", "tensor parallel", 1, 1e6}, self.tp);
    f(Field{"ep", "expert parallel", 1, 1e6}, self.ep);
    f(Field{"pp", "pipeline parallel", 1, 1e6}, self.pp);
  }
};

struct MeshSpec {
  MeshAxes ici;
  MeshAxes dcn;

  constexpr std::int64_t dp() const { return ici.dp * dcn.dp; }
  constexpr std::int64_t fsdp() const { return ici.fsdp * dcn.fsdp; }
  constexpr std::int64_t tp() const { return ici.tp * dcn.tp; }
  constexpr std::int64_t ep() const { return ici.ep * dcn.ep; }
  constexpr std::int64_t pp() const { return ici.pp * dcn.pp; }
  constexpr std::int64_t devices() const { return ici.size() * dcn.size(); }
  // The number of ranks that see different sequences.
  constexpr std::int64_t data_shards() const { return dp() * fsdp() * ep(); }

  template <class Self, class F>
  static void fields(Self& self, F&& f) {
    f(Field{"ici", "axes inside a node"}, self.ici);
    f(Field{"dcn", "axes across nodes"}, self.dcn);
  }
};

}  // namespace perfbench::spec
