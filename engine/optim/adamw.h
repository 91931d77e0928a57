// One optimizer step over all units that train: global gradient norm, clipping, AdamW.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sharding/parameter_store.h"

namespace perfbench::spec {
struct OptimizerSpec;
struct RunSpec;
}  // namespace perfbench::spec

namespace perfbench::engine {

class AdamwOptimizer {
 public:
  AdamwOptimizer(Context& context, const spec::RunSpec& run);

  // Hands the factors of `step`, which counts from 0, to the device. Before the update.
  void begin(std::int64_t step);
  // Enqueues norm, clipping and AdamW; waits for nothing but collectives. Gradients hold the sum over all ranks of
  // d(mean loss).
  void update(const ParameterStore& store);
  // The same by parts, without clipping: after begin() one unit after the other, as their gradients are complete, then
  // the rest of the norm.
  void update_unit(const ParameterStore& store, std::size_t unit);
  void finish_units();
  // Of the last update: global, before clipping. Waits for it.
  double grad_norm();

 private:
  void append_gradients(const ParameterStore& store, std::size_t unit, std::vector<TensorView>& gradients) const;
  void sum_over_ranks();
  void apply(const std::vector<AdamwTensor>& tensors);
  // This rank's parts of a unit, each with one rule of weight decay.
  void append_tensors(const ParameterStore& store, const UnitState& unit, std::vector<AdamwTensor>& tensors) const;

  Context& context_;
  const spec::OptimizerSpec& spec_;
  std::uint64_t seed_;   // of draws
  Tensor square_sum_;    // f64 [1]
  Tensor factors_;       // f64, by AdamwFactor
  Tensor step_;          // i32 [1], of moments in bf16
  bool summed_ = false;  // squares of a unit, in this step
};

}  // namespace perfbench::engine
