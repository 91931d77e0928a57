// One optimizer step over all units: global gradient norm, clipping, AdamW.
#pragma once

#include <cstdint>

#include "engine/sharding/fsdp.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

struct UpdateResult {
  double grad_norm = 0;  // global, before clipping
  double learning_rate = 0;
};

class AdamwOptimizer {
 public:
  AdamwOptimizer(Context& context, const spec::OptimizerSpec& spec);

  // `step` counts from 0. Gradients hold the sum over all ranks of d(mean loss).
  UpdateResult update(Fsdp& fsdp, std::int64_t step);

 private:
  double global_norm(Fsdp& fsdp);
  void update_unit(UnitState& unit, const AdamwArgs& common);

  Context& context_;
  const spec::OptimizerSpec& spec_;
  Tensor square_sum_;  // f64 [1]
};

}  // namespace perfbench::engine
