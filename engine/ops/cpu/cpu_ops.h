// The cpu backend: every do_* stands in the file of its name. Storage f32 or bf16, arithmetic in f32, reductions in an
// order that is fixed by the shapes and not by the number of threads.
#pragma once

#include "engine/ops/cpu/scratch.h"
#include "engine/ops/ops.h"

namespace perfbench::engine::cpu {

class CpuOps : public Ops {
 public:
  bool emulates(spec::Precision precision) const override;

 protected:
  void do_matmul(const MatmulArgs& args) override;
  void do_bias_backward(TensorView dbias, TensorView dy, Write write) override;
  void do_norm_forward(const NormForwardArgs& args) override;
  void do_norm_apply(const NormForwardArgs& args) override;
  void do_norm_backward(const NormBackwardArgs& args) override;
  void do_rope(const RopeArgs& args) override;
  void do_attention_forward(const AttentionForwardArgs& args) override;
  void do_attention_backward(const AttentionBackwardArgs& args) override;
  void do_activation_forward(const ActivationForwardArgs& args) override;
  void do_activation_backward(const ActivationBackwardArgs& args) override;
  void do_embedding_forward(const EmbeddingForwardArgs& args) override;
  void do_embedding_backward(const EmbeddingBackwardArgs& args) override;
  void do_cross_entropy(const CrossEntropyArgs& args) override;
  void do_adamw(const AdamwArgs& args) override;
  void do_clip_scale(TensorView scale, TensorView square_sum, double clip_norm) override;
  void do_add(TensorView out, TensorView a, TensorView b) override;
  void do_copy(TensorView out, TensorView in) override;
  void do_cast_stochastic(const StochasticCastArgs& args) override;
  std::unique_ptr<Pending::State> do_transfer(TensorView out, TensorView in) override;
  void do_fill(TensorView out, double value) override;
  void do_fill_normal(const NormalArgs& args) override;
  void do_sum(TensorView out_f64, TensorView x, Write write) override;
  void do_sum_of_squares(TensorView out_f64, std::span<const TensorView> tensors, Write write) override;
  double do_read_f64(TensorView scalar) override;
  void do_upload(TensorView out, const void* from) override;

 private:
  // d *= gelu'(preactivation), in its tanh form.
  static void multiply_by_gelu_slope(TensorView d, TensorView preactivation);

  Scratch scratch_;
};

}  // namespace perfbench::engine::cpu
