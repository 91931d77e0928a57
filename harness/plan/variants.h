// Runs that differ from another one only in settings that decide its memory: alternatives to a cell that does not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/matrix/matrix.h"

namespace perfbench::harness {

// A single change. Options of one kind exclude each other: a variant has at most one of each kind.
struct ChangeOption {
  enum class Kind { remat, prefetch, microbatch, mesh };

  Kind kind = Kind::remat;
  std::function<void(spec::RunSpec&)> apply;
};

// Possible changes of `run`:
// - remat: every shipped policy with another plan, and this run's policy with everything that it keeps in host memory
// - prefetch: fsdp_prefetch 0, where layers are gathered ahead
// - microbatch: grad_accum times 2, 4, 8 ..., up to the number of sequences
// - mesh: more fsdp in place of dp, tp in place of fsdp (inside a node), and fsdp times 2, 4, 8 with as many more
// devices
//
// Added devices are inside a node as long as it has `devices_per_node` (0: any number), else they are across nodes.
// The global batch stays, and so does the microbatch where possible: grad_accum follows the mesh.
std::vector<ChangeOption> change_options(const spec::RunSpec& run, std::int64_t devices_per_node);

// A cell that differs from another one in these options. Its axes are the keys that differ, with their new values, and
// its label is made of them.
struct Variant {
  std::vector<std::size_t> options;  // indices of the options
  Cell cell;
};

// Every combination of `changes` options of different kinds that is a valid run for which the engine has kernels.
std::vector<Variant> variants(const Cell& cell, const std::vector<ChangeOption>& options, std::size_t changes);

}  // namespace perfbench::harness
