// Computes nothing: the public functions have checked and counted already.
#include "engine/ops/ops.h"

namespace perfbench::engine {
namespace {

class DryOps final : public Ops {
 public:
  bool emulates(spec::Precision) const override { return false; }

 private:
  void do_matmul(const MatmulArgs&) override {}
  void do_bias_backward(TensorView, TensorView, Write) override {}
  void do_norm_forward(const NormForwardArgs&) override {}
  void do_norm_apply(const NormForwardArgs&) override {}
  void do_norm_backward(const NormBackwardArgs&) override {}
  void do_rope(const RopeArgs&) override {}
  void do_attention_forward(const AttentionForwardArgs&) override {}
  void do_attention_backward(const AttentionBackwardArgs&) override {}
  void do_activation_forward(const ActivationForwardArgs&) override {}
  void do_activation_backward(const ActivationBackwardArgs&) override {}
  void do_embedding_forward(const EmbeddingForwardArgs&) override {}
  void do_embedding_backward(const EmbeddingBackwardArgs&) override {}
  void do_cross_entropy(const CrossEntropyArgs&) override {}
  void do_adamw(const AdamwArgs&) override {}
  void do_clip_scale(TensorView, TensorView, double) override {}
  void do_add(TensorView, TensorView, TensorView) override {}
  void do_copy(TensorView, TensorView) override {}
  void do_cast_stochastic(const StochasticCastArgs&) override {}
  std::unique_ptr<Pending::State> do_transfer(TensorView, TensorView) override { return nullptr; }
  void do_fill(TensorView, double) override {}
  void do_fill_normal(const NormalArgs&) override {}
  void do_sum(TensorView, TensorView, Write) override {}
  void do_sum_of_squares(TensorView, std::span<const TensorView>, Write) override {}
  double do_read_f64(TensorView) override { return 0.0; }
  void do_upload(TensorView, const void*) override {}
};

}  // namespace

std::unique_ptr<Ops> make_dry_ops() {
  return std::make_unique<DryOps>();
}

}  // namespace perfbench::engine
