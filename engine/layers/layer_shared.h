// What all layers of a model share.
#pragma once

#include "engine/layers/joined_linear.h"
#include "engine/layers/recompute_pass.h"
#include "engine/layers/tensor_parallel.h"
#include "workloads/spec/remat_policy.h"

namespace perfbench::spec {
struct RunSpec;
}

namespace perfbench::engine {

// What layers of experts add to, f64 [1] each; undefined where a model has none.
struct ExpertTotals {
  TensorView balance;  // of all sequences and layers (expert_operations.h)
  TensorView load;     // the same
  TensorView dropped;  // choices
};

// What the dropout of a microbatch draws by.
struct DropoutKeys {
  TensorView step;               // i32 [1]; undefined where nothing is dropped
  std::int64_t first_token = 0;  // of the microbatch, in the step's global batch
};

struct LayerShared {
  const Context& context;
  const spec::RunSpec& run;
  spec::RematPlan remat;
  TensorView rope_cos_sin_TD;     // undefined without rotary positions
  TensorView distance_buckets_T;  // undefined without a relative bias
  TensorParallel tensor_parallel;
  TokenRange tokens;  // of this rank's rows of the embedding and columns of the logits
  ExpertTotals experts;
  // Of the microbatch at hand, where documents begin (ops.h); undefined where a row is one document.
  TensorView first_N = {};
  DropoutKeys dropout = {};
};

// Whether what linear layers of one input give can be one buffer, and they one product.
inline JoinedLinear::Products products_of(const LayerShared& shared, std::initializer_list<spec::Saved> names) {
  return shared.remat.places_alike(names) ? JoinedLinear::Products::joined : JoinedLinear::Products::apart;
}

// The bias of a product of which the ranks along tp each make a part.
inline Bias bias_of(const TensorParallel& ranks) {
  return ranks.first() ? Bias::here : Bias::elsewhere;
}

}  // namespace perfbench::engine
