// State shared by all layers of a model.
#pragma once

#include "engine/layers/joined_linear.h"
#include "engine/layers/recompute_pass.h"
#include "engine/layers/tensor_parallel.h"
#include "workloads/spec/remat_policy.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// Sums that layers of experts add to, f64 [1] each; undefined if the model has no experts.
struct ExpertTotals {
  TensorView balance;  // over all sequences and layers (expert_operations.h)
  TensorView load;     // the same
  TensorView dropped;  // choices
};

// The keys of a microbatch's dropout draws.
struct DropoutKeys {
  TensorView step;               // i32 [1]; undefined without dropout
  std::int64_t first_token = 0;  // the microbatch's first token in the step's global batch
};

struct LayerShared {
  const Context& context;
  const spec::RunSpec& run;
  spec::RematPlan remat;
  TensorView rope_cos_sin_TD;     // undefined without rotary positions
  TensorView distance_buckets_T;  // undefined without a relative bias
  TensorParallel tensor_parallel;
  TokenRange tokens;  // this rank's rows of the embedding and columns of the logits
  ExpertTotals experts;
  // For the current microbatch: where documents begin (ops.h); undefined if a row is one document.
  TensorView first_N = {};
  DropoutKeys dropout = {};
};

// Whether the outputs of linear layers with one input may share a buffer, so that they are one product.
inline JoinedLinear::Products products_of(const LayerShared& shared, std::initializer_list<spec::Saved> names) {
  return shared.remat.places_alike(names) ? JoinedLinear::Products::joined : JoinedLinear::Products::apart;
}

// Which rank adds the bias of a product whose parts are computed by the ranks along tp.
inline Bias bias_of(const TensorParallel& ranks) {
  return ranks.first() ? Bias::here : Bias::elsewhere;
}

}  // namespace perfbench::engine
