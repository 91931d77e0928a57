// Gathers a unit's weights for use and reduces its gradients. With one rank along fsdp the shard is the whole unit; in
// f32, or in bf16 that is kept, "gathering" then only takes a view of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "engine/sharding/parameter_store.h"
#include "workloads/spec/run_kinds.h"

namespace perfbench::engine {

// How master weights become weights of the compute type.
struct CastRule {
  spec::Rounding rounding = spec::Rounding::nearest;
  std::uint64_t seed = 0;
};

// The whole weights of a unit in the compute type. Usable after wait().
class GatheredUnit {
 public:
  GatheredUnit() = default;
  bool submitted() const { return whole_.defined(); }
  void wait(PhaseClock& clock);
  TensorView weight(const ParameterPlace& at) const { return whole_.slice(at.offset, at.shape); }
  // Undefined if the model has no such parameter.
  TensorView weight(const std::optional<ParameterPlace>& at) const { return at ? weight(*at) : TensorView{}; }

 private:
  friend class UnitGatherer;
  TensorView whole_;   // [U]
  Tensor buffer_;      // memory of whole_, unless that is a unit's own weights
  Tensor cast_shard_;  // the input of the collective
  Pending pending_;
};

// Where a unit's gradients of one microbatch are written, whole and in f32. For a frozen unit all are undefined and not
// computed.
class GradientTarget {
 public:
  TensorView gradient(const ParameterPlace& at) const {
    return whole_.defined() ? whole_.slice(at.offset, at.shape) : TensorView{};
  }
  TensorView gradient(const std::optional<ParameterPlace>& at) const { return at ? gradient(*at) : TensorView{}; }
  // How to write the first contribution to each parameter; later ones of the same microbatch accumulate.
  Write first_write() const { return first_write_; }
  // The contributions after the first one: products of the same shape from other microbatches.
  Additions additions() const { return additions_; }

 private:
  friend class UnitGatherer;
  std::size_t unit_ = 0;
  TensorView whole_;
  Tensor buffer_;  // memory of whole_, unless that is the unit's gradient itself
  Write first_write_ = Write::overwrite;
  Additions additions_ = Additions::none;
  std::int64_t opened_after_ = 0;  // the number of reductions submitted by then
};

// Whether a unit's reduction runs beside the computation of the next gradients or is waited for at once. Overlap takes
// the memory of a second unit's whole gradient (with a tied embedding, which is complete when the head is, of both).
enum class ReductionOverlap { none, next_unit };

class UnitGatherer {
 public:
  struct Options {
    CastRule cast;
    ReductionOverlap overlap = ReductionOverlap::none;
    std::int64_t microbatches = 1;      // of each step; every unit gets a gradient from each, in their order
    std::int64_t all_reduce_bytes = 0;  // most bytes in one all-reduce; 0: a whole unit
  };
  UnitGatherer(const Context& context, ParameterStore& store, const Options& options);

  // Called before the gatherings of `step`, which counts from 0.
  void begin_step(std::int64_t step);
  // Submits the gathering of a unit.
  GatheredUnit gather(std::size_t unit);
  // Makes the values written to a frozen unit's gathered weights its own: each rank keeps its shard of them.
  void put_back(std::size_t unit, const GatheredUnit& gathered);

  GradientTarget open_gradient(std::size_t unit);
  // The target's values are complete: submits their reduction. A unit may be opened and closed several times in a
  // microbatch (the head and the lookup both do it with a tied embedding). After the last microbatch the gradient is
  // also summed over all ranks that hold the same weights.
  enum class Contribution { more_follow, final_one };
  void close_gradient(GradientTarget target, Contribution contribution);
  // Waits until every unit's gradient holds the sum over all ranks. Call it after the last microbatch.
  void finish_gradients();
  // From now on `use` is called for each unit as soon as its gradient, of one microbatch, is complete; the gradient is
  // not kept after that. Only if no replicas have to be summed.
  void use_each_gradient(std::function<void(std::size_t unit)> use) { use_gradient_ = std::move(use); }

 private:
  struct Reduction {
    std::size_t unit = 0;
    Tensor whole;  // the collective reads it and overwrites parts of it
    Tensor shard;  // its result, if that is to be added to earlier ones
    Pending pending;
    bool completes = false;  // whether it completes the unit's gradient of this step, on this rank
  };
  // The state of a unit's gradient in this step.
  struct Progress {
    bool begun = false;
    std::int64_t microbatches = 0;  // those whose part is complete
  };

  void cast(TensorView out, const UnitState& unit);
  // Whether gradients are computed where they are kept: they are neither reduced nor rounded.
  bool writes_in_place() const { return shards_ == 1 && store_.gradient_type() == DType::f32; }
  // The whole gradient of a unit as the reduction reads it: rounded if gradients are kept in bf16.
  Tensor whole_in_type(Tensor&& gradient, const UnitLayout& layout) const;
  // Settles the first `number` of all reductions.
  void settle_until(std::int64_t number);
  void settle_oldest();
  // The unit's gradient of the step is complete on this rank.
  void complete(std::size_t unit);
  void reduce_over_replicas(std::size_t unit);
  std::int64_t elements_of_all_reduce(AxisSet axes) const;
  void add_other_embedding();

  const Context& context_;
  ParameterStore& store_;
  std::int64_t shards_;
  Options options_;
  Tensor rounding_step_;              // i32 [1], if casts round stochastically
  std::vector<Progress> progress_;    // by unit
  std::deque<Reduction> reductions_;  // under way, in the order of submission
  std::int64_t submitted_ = 0;
  std::vector<Pending> replica_reductions_;
  std::function<void(std::size_t unit)> use_gradient_;
};

}  // namespace perfbench::engine
