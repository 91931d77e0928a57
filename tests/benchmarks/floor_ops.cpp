#include "tests/benchmarks/floor_ops.h"

#include <dnnl.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/ops/dry/dry_ops.h"

namespace perfbench::engine {
namespace {

// Scratch memory for operands of any shape: real memory traffic, meaningless values.
class Scratch {
 public:
  float* get(std::int64_t elements) {
    if (static_cast<std::int64_t>(values_.size()) < elements) values_.assign(static_cast<std::size_t>(elements), 0.01F);
    return values_.data();
  }

 private:
  std::vector<float> values_;
};

void product(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b,
             float beta, float* c) {
  dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1.0F, a, ta ? m : k, b, tb ? k : n, beta, c, n);
}

// Operations that it leaves out are not called or cost nothing: parts of a vocabulary, experts, single numbers.
class FloorOps final : public DryOps {
 private:
  void do_matmul(const MatmulArgs& args) override {
    const bool ta = args.transpose_a == Transpose::yes;
    const bool tb = args.transpose_b == Transpose::yes;
    const std::int64_t m = args.c.shape[0];
    const std::int64_t n = args.c.shape[1];
    const std::int64_t k = args.a.shape[ta ? 0 : 1];
    const float beta = args.write == Write::accumulate ? 1.0F : 0.0F;
    product(ta, tb, m, n, k, a_.get(m * k), b_.get(k * n), beta, c_.get(m * n));
  }

  // `products` of [T, T/2] by D for every head: the causal half.
  void heads(const AttentionDims& d, int products) {
    const std::int64_t t = d.seq_len;
    const std::int64_t half = std::max<std::int64_t>(1, t / 2);
    const float* a = a_.get(t * d.head_dim);
    const float* b = b_.get(t * d.head_dim);
#pragma omp parallel
    {
      std::vector<float> c(static_cast<std::size_t>(t * half));
#pragma omp for
      for (std::int64_t head = 0; head < d.batch * d.n_heads; ++head) {
        for (int i = 0; i < products; ++i) product(false, true, t, half, d.head_dim, a, b, 0.0F, c.data());
        for (auto& v : c) v = std::exp(v - 1.0F);
      }
    }
  }
  void do_attention_forward(const AttentionForwardArgs& args) override {
    heads(args.dims, 2);
  }
  // Four products, and the scores once more: no implementation without a T x T buffer avoids that.
  void do_attention_backward(const AttentionBackwardArgs& args) override {
    heads(args.dims, 5);
  }

  // One pass: reads `reads` operands of n elements and writes one.
  void pass(std::int64_t n, int reads) {
    const float* a = a_.get(n);
    const float* b = b_.get(n);
    float* c = c_.get(n);
    if (reads == 1) {
#pragma omp parallel for simd
      for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] * 1.5F;
    } else {
#pragma omp parallel for simd
      for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] * 1.5F + b[i];
    }
  }
  void exponentials(std::int64_t n) {
    float* c = c_.get(n);
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < n; ++i) c[i] = std::exp(c[i] * 0.5F);
  }

  void do_bias_backward(TensorView, RowsView dy, Write) override {
    pass(dy.elements(), 1);
  }
  void do_norm_forward(const NormForwardArgs& args) override {
    pass(args.x_NM.elements(), 1);
  }
  void do_norm_apply(const NormForwardArgs& args) override {
    pass(args.x_NM.elements(), 1);
  }
  void do_norm_backward(const NormBackwardArgs& args) override {
    pass(args.x_NM.elements(), 2);
  }
  void do_rope(const RopeArgs& args) override {
    pass(args.x.elements(), 1);
  }
  void do_activation_forward(const ActivationForwardArgs& args) override {
    exponentials(args.up_NF.elements());
  }
  void do_activation_backward(const ActivationBackwardArgs& args) override {
    exponentials(args.up_NF.elements());
  }
  void do_embedding_forward(const EmbeddingForwardArgs& args) override {
    pass(args.x_NM.elements(), 1);
  }
  void do_embedding_backward(const EmbeddingBackwardArgs& args) override {
    pass(args.dx_NM.elements(), 2);
  }
  void do_cross_entropy(const CrossEntropyArgs& args) override {
    exponentials(args.logits_NV.elements());
    pass(args.logits_NV.elements(), 1);
  }
  void do_adamw(const AdamwArgs& args) override {
    for (const auto& tensor : args.tensors) update(tensor.weight.elements());
  }
  void update(std::int64_t n) {
    float* w = a_.get(n);
    const float* g = b_.get(n);
    float* m = c_.get(n);
    float* v = d_.get(n);
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < n; ++i) {
      m[i] = 0.9F * m[i] + 0.1F * g[i];
      v[i] = 0.95F * v[i] + 0.05F * g[i] * g[i];
      w[i] -= 1e-8F * m[i] / (std::sqrt(v[i]) + 1e-8F);
    }
  }
  void do_add(TensorView out, TensorView, TensorView) override {
    pass(out.elements(), 2);
  }
  void do_dropout(const DropoutArgs& args) override {
    pass(args.out_RM.elements(), 1);
  }
  void do_copy(TensorView out, TensorView) override {
    pass(out.elements(), 1);
  }
  void do_cast_stochastic(const StochasticCastArgs& args) override {
    pass(args.out.elements(), 1);
  }
  std::unique_ptr<Pending::State> do_transfer(TensorView out, TensorView in) override {
    do_copy(out, in);
    return nullptr;
  }
  void do_fill(TensorView, double) override {}
  void do_fill_normal(const NormalArgs&) override {}
  void do_sum(TensorView, TensorView, Write) override {}
  void do_sum_of_squares(TensorView, std::span<const TensorView> tensors, Write) override {
    float sum = 0;
    for (const auto& x : tensors) {
      const std::int64_t n = x.elements();
      const float* a = b_.get(n);
#pragma omp parallel for simd reduction(+ : sum)
      for (std::int64_t i = 0; i < n; ++i) sum += a[i] * a[i];
    }
    a_.get(1)[0] = sum * 1e-30F;
  }
  void do_read_f64(std::span<double> to, TensorView) override {
    std::fill(to.begin(), to.end(), 1.0);
  }
  void do_upload(TensorView, const void*) override {}

  Scratch a_;
  Scratch b_;
  Scratch c_;
  Scratch d_;
};

}  // namespace

std::unique_ptr<Ops> make_floor_ops() {
  return std::make_unique<FloorOps>();
}

}  // namespace perfbench::engine
