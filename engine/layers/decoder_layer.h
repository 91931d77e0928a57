// One pre-norm decoder layer: x + attention(norm(x)), then that + feed_forward(norm(that)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/layers/linear.h"
#include "engine/layers/norm.h"
#include "engine/remat/layer_values.h"
#include "engine/sharding/unit_gatherer.h"
#include "workloads/spec/run_spec.h"

namespace perfbench::engine {

class DecoderLayer {
 public:
  struct Shared {
    const Context& context;
    const spec::RunSpec& run;
    spec::RematPlan remat;
    TensorView rope_cos_sin_TD;  // undefined without rotary positions
  };
  DecoderLayer(const Shared& shared, const UnitLayout& unit);

  // y_NM from x_NM. What the policy keeps waits inside.
  Tensor forward(const GatheredUnit& weights, Tensor x_NM);
  // When the next layer, or with one recording for all this one, is computed: what is offloaded has left the device.
  void finish_offload() { saved_.finish_offload(); }
  // Before the backward pass, while the layer behind this one computes: what was offloaded begins to come back.
  void begin_fetch() { saved_.begin_fetch(shared_.context, name_); }
  // Just before the backward pass.
  void finish_fetch() { saved_.finish_fetch(); }
  // dx_NM from dy_NM (in its buffer); parameter gradients into `gradients`.
  Tensor backward(const GatheredUnit& weights, const GradientTarget& gradients, Tensor dy_NM);

 private:
  // Where each lies in the layer's unit.
  struct Parameters {
    Parameters(const UnitLayout& unit, const spec::ModelSpec& model);

    Norm attention_norm;
    Linear query;
    Linear key;
    Linear value;
    Linear out;
    Norm mlp_norm;
    std::optional<Linear> gate;  // gated kinds only
    Linear up;
    Linear down;
  };

  // Computes every value that is missing, in the order of the forward pass. The forward pass itself is this on a layer
  // of which only the input is there, so that what is computed again has the same bits.
  void compute_attention(const GatheredUnit& weights, LayerValues& v) const;
  // What the residual sum still lacks: the layer's input, which compute_mlp_norm adds. Undefined where it is whole.
  TensorView compute_out_projection(const GatheredUnit& weights, LayerValues& v) const;
  // The normalised sum, or nothing where everything that reads it is there.
  Tensor compute_mlp_norm(const GatheredUnit& weights, LayerValues& v, TensorView missing_NM) const;
  // The activated product where it came with its projection, else nothing.
  Tensor compute_feed_forward(const GatheredUnit& weights, LayerValues& v, Tensor normed_NM) const;

  // Products whose activation is their epilogue.
  bool fuses_activation() const { return model_.activation == spec::Activation::gelu_tanh; }
  Tensor feed_forward_buffer() const;
  void activate(const LayerValues& v, TensorView product_NF) const;
  void feed_forward_backward(const GatheredUnit& weights, const GradientTarget& gradients, LayerValues& v,
                             Tensor product_NF, const Tensor& dy_NM) const;
  void attention_backward(const GatheredUnit& weights, const GradientTarget& gradients, LayerValues& v,
                          const Tensor& dx_NM) const;

  void put_away(LayerTensor tensor, LayerValues& v);
  std::string named(const char* what) const { return name_ + "." + what; }
  AttentionDims attention_dims() const;
  std::int64_t tokens() const { return shared_.run.microbatch() * shared_.run.seq_len; }

  const Shared& shared_;
  const spec::ModelSpec& model_;
  const Parameters parameters_;
  std::string name_;
  SavedLayer saved_;
};

}  // namespace perfbench::engine
