// One optimizer step over all units that train: the global gradient norm, clipping, AdamW.
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

  // Copies the factors of `step`, which counts from 0, to the device. Call it before the update.
  void begin(std::int64_t step);
  // Enqueues norm, clipping and AdamW; waits for nothing but collectives. Gradients hold the sum over all ranks of
  // d(mean loss).
  void update(const ParameterStore& store);
  // The same in parts, without clipping. After begin(), update each unit once its gradients are complete, then finish
  // the norm.
  void update_unit(const ParameterStore& store, std::size_t unit);
  void finish_units();
  // The global gradient norm of the last update, before clipping. Waits for it.
  double grad_norm();

 private:
  void append_gradients(const ParameterStore& store, std::size_t unit, std::vector<TensorView>& gradients) const;
  void sum_over_ranks();
  void apply(const std::vector<AdamwTensor>& tensors);
  // This rank's parts of a unit; each part has one weight decay.
  void append_tensors(const ParameterStore& store, const UnitState& unit, std::vector<AdamwTensor>& tensors) const;

  Context& context_;
  const spec::OptimizerSpec& spec_;
  std::uint64_t seed_;   // seed of the draws
  Tensor square_sum_;    // f64 [1]
  Tensor factors_;       // f64, by AdamwFactor
  Tensor step_;          // i32 [1], for moments in bf16
  bool summed_ = false;  // whether this step has summed squares of a unit
};

}  // namespace perfbench::engine
