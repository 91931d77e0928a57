// Runs that are like another but for what decides its memory: what a cell that does not fit could be instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/matrix/matrix.h"

namespace perfbench::harness {

// One thing to change. Options of one kind exclude each other: a variant has at most one of each.
struct ChangeOption {
  enum class Kind { remat, prefetch, microbatch, mesh };

  Kind kind = Kind::remat;
  std::function<void(spec::RunSpec&)> apply;
};

// What can be changed of `run`:
//   remat       every shipped policy whose plan is another, and this run's with all that it keeps in host memory
//   prefetch    fsdp_prefetch 0, where layers are gathered ahead
//   microbatch  grad_accum times 2, 4, 8 ..., and as many as there are sequences
//   mesh        more fsdp in place of dp, tp in place of fsdp (inside a node), and fsdp times 2, 4, 8 with as many more
//               devices: inside a node as long as it has `devices_per_node` (0: any number), else across nodes.
// The global batch stays, and the microbatch where it can: grad_accum follows the mesh.
std::vector<ChangeOption> change_options(const spec::RunSpec& run, std::int64_t devices_per_node);

// A cell that differs from another in so many options. Its axes are the keys that differ, with the values of this one,
// and its label is made of them.
struct Variant {
  std::vector<std::size_t> options;  // by their indices
  Cell cell;
};

// Every combination of `changes` options of different kinds that is a sound run which the engine has kernels for.
std::vector<Variant> variants(const Cell& cell, const std::vector<ChangeOption>& options, std::size_t changes);

}  // namespace perfbench::harness
