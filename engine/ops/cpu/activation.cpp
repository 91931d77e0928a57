#include <cmath>
#include <numbers>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/numerics.h"
#include "engine/ops/cpu/rows.h"

namespace perfbench::engine {
namespace {

// Value and derivative of an activation at x.
struct Point {
  float value;
  float slope;
};

// x sigmoid(x).
struct Silu {
  static Point at(float x) {
    const float s = cpu::sigmoid_f32(x);
    return {x * s, s * (1.0F + x * (1.0F - s))};
  }
};

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3) (Hendrycks, Gimpel, "GELU", 2016).
struct GeluTanh {
  static Point at(float x) {
    constexpr float kRoot = 0.797884560802865F;
    constexpr float kCube = 0.044715F;
    const float s = cpu::sigmoid_f32(2.0F * kRoot * (x + kCube * x * x * x));
    const float du = kRoot * (1.0F + 3.0F * kCube * x * x);
    return {x * s, s + 2.0F * x * s * (1.0F - s) * du};
  }
};

// x Phi(x), Phi the normal distribution.
struct GeluErf {
  static Point at(float x) {
    const float phi = 0.5F * (1.0F + std::erf(x * std::numbers::sqrt2_v<float> / 2.0F));
    const float density = 0.398942280401433F * std::exp(-0.5F * x * x);
    return {x * phi, phi + x * density};
  }
};

struct Relu {
  static Point at(float x) { return {x > 0.0F ? x : 0.0F, x > 0.0F ? 1.0F : 0.0F}; }
};

// One pass over equal flat operands in blocks that stay in the first cache.
constexpr std::int64_t kBlock = 2048;

template <class Act>
void forward(const ActivationForwardArgs& args) {
  const std::int64_t n = args.up_NF.elements();
  const bool gated = args.gate_NF.defined();
#pragma omp parallel
  {
    std::vector<float> gate_buffer;
    std::vector<float> up_buffer;
    std::vector<float> out_buffer;
#pragma omp for
    for (std::int64_t first = 0; first < n; first += kBlock) {
      const Shape shape{std::min(kBlock, n - first)};
      const std::int64_t count = shape[0];
      const auto product = args.product_NF.slice(first, shape);
      const float* up = cpu::read_row(args.up_NF.slice(first, shape), 0, count, up_buffer);
      float* out = cpu::write_row(product, 0, count, out_buffer);
      if (gated) {
        const float* gate = cpu::read_row(args.gate_NF.slice(first, shape), 0, count, gate_buffer);
        for (std::int64_t i = 0; i < count; ++i) out[i] = Act::at(gate[i]).value * up[i];
      } else {
        for (std::int64_t i = 0; i < count; ++i) out[i] = Act::at(up[i]).value;
      }
      cpu::finish_row(product, 0, count, out_buffer);
    }
  }
}

template <class Act>
void backward(const ActivationBackwardArgs& args) {
  const std::int64_t n = args.up_NF.elements();
  const bool gated = args.gate_NF.defined();
#pragma omp parallel
  {
    std::vector<float> gate_buffer;
    std::vector<float> up_buffer;
    std::vector<float> d_buffer;
#pragma omp for
    for (std::int64_t first = 0; first < n; first += kBlock) {
      const Shape shape{std::min(kBlock, n - first)};
      const std::int64_t count = shape[0];
      const auto up_view = args.up_NF.slice(first, shape);
      const float* d = cpu::read_row(args.dproduct_NF.slice(first, shape), 0, count, d_buffer);
      float* up = cpu::change_row(up_view, 0, count, up_buffer);
      if (gated) {
        const auto gate_view = args.gate_NF.slice(first, shape);
        float* gate = cpu::change_row(gate_view, 0, count, gate_buffer);
        for (std::int64_t i = 0; i < count; ++i) {
          const Point a = Act::at(gate[i]);
          gate[i] = d[i] * up[i] * a.slope;
          up[i] = d[i] * a.value;
        }
        cpu::finish_row(gate_view, 0, count, gate_buffer);
      } else {
        for (std::int64_t i = 0; i < count; ++i) up[i] = d[i] * Act::at(up[i]).slope;
      }
      cpu::finish_row(up_view, 0, count, up_buffer);
    }
  }
}

}  // namespace

void CpuOps::do_activation_forward(const ActivationForwardArgs& args) {
  switch (args.kind) {
    case spec::Activation::swiglu:
      return forward<Silu>(args);
    case spec::Activation::geglu:
    case spec::Activation::gelu_tanh:
      return forward<GeluTanh>(args);
    case spec::Activation::gelu:
      return forward<GeluErf>(args);
    case spec::Activation::relu:
      return forward<Relu>(args);
  }
}

void CpuOps::do_activation_backward(const ActivationBackwardArgs& args) {
  switch (args.kind) {
    case spec::Activation::swiglu:
      return backward<Silu>(args);
    case spec::Activation::geglu:
    case spec::Activation::gelu_tanh:
      return backward<GeluTanh>(args);
    case spec::Activation::gelu:
      return backward<GeluErf>(args);
    case spec::Activation::relu:
      return backward<Relu>(args);
  }
}

}  // namespace perfbench::engine
