// Marks computations that are repeated for the backward pass.
#pragma once

#include "engine/ops/ops.h"

namespace perfbench::engine {

class RecomputePass {
 public:
  explicit RecomputePass(Ops& ops) : ops_(ops) { ops_.set_pass(Pass::recompute); }
  ~RecomputePass() { ops_.set_pass(Pass::first); }
  RecomputePass(const RecomputePass&) = delete;
  RecomputePass& operator=(const RecomputePass&) = delete;

 private:
  Ops& ops_;
};

}  // namespace perfbench::engine
