// Activations of the feed-forward block and their gradients, one pass over memory. expf and erff err by at most 2 units
// in the last place (CUDA C++ Programming Guide, "Mathematical Functions"); nothing is compiled with fast math.
#include "engine/ops/cuda/cuda_ops.h"
#include "engine/ops/cuda/device/flat.cuh"

namespace perfbench::engine::cuda {
namespace {

struct ValueAndSlope {
  float value;
  float slope;
};

// Divides by an approximate reciprocal: an exact division is 10 instructions and a branch. The error is up to 2 units
// in the last place, and the result is 0 above 2^126, where the sigmoid is below 2^-126.
__device__ inline float sigmoid(float x) {
  return __fdividef(1.0F, 1.0F + expf(-x));
}

struct Relu {
  // Written so that a NaN stays a NaN.
  __device__ static ValueAndSlope at(float x) { return {x < 0.0F ? 0.0F : x, x <= 0.0F ? 0.0F : 1.0F}; }
};

struct Silu {
  __device__ static ValueAndSlope at(float x) {
    const float s = sigmoid(x);
    const float value = x * s;
    return {value, s + value * (1.0F - s)};
  }
};

// 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3), is x sigmoid(2u).
struct GeluTanh {
  __device__ static ValueAndSlope at(float x) {
    constexpr float kTwoRootTwoOverPi = 1.5957691216057308F;
    constexpr float kCubic = 0.044715F;
    const float square = x * x;
    const float s = sigmoid(kTwoRootTwoOverPi * x * (1.0F + kCubic * square));
    const float slope_2u = kTwoRootTwoOverPi * (1.0F + 3.0F * kCubic * square);
    // s (1 - s) is 0 where the polynomial overflows; this avoids infinity * 0.
    const float bend = s * (1.0F - s) == 0.0F ? 0.0F : x * s * (1.0F - s) * slope_2u;
    return {x * s, s + bend};
  }
};

// x Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2.
struct GeluErf {
  __device__ static ValueAndSlope at(float x) {
    constexpr float kRootHalf = 0.70710678118654752F;
    constexpr float kOneOverRootTwoPi = 0.39894228040143268F;
    const float phi = 0.5F * (1.0F + erff(x * kRootHalf));
    const float density = kOneOverRootTwoPi * expf(-0.5F * x * x);
    return {x * phi, phi + (density == 0.0F ? 0.0F : x * density)};
  }
};

// Rows of gate and up may be apart; those of the product and of its gradient are dense.
struct GatedRows {
  RowExtent extent;
  std::int64_t gate_stride;
  std::int64_t up_stride;
  Access access;
};

// `gate` is nullptr for un-gated kinds.
template <class Kind, class T>
__global__ void forward_kernel(T* product, const T* gate, const T* up, GatedRows rows) {
  constexpr int N = kVector<T>;
  const Access access = rows.access;
  for_each_vector_of_rows<N>(rows.extent, [&](std::int64_t row, std::int64_t first, std::int64_t count) {
    float u[N];
    load(up + row * rows.up_stride + first, count, access, u);
    if (gate == nullptr) {
#pragma unroll
      for (int i = 0; i < N; ++i) u[i] = Kind::at(u[i]).value;
    } else {
      float g[N];
      load(gate + row * rows.gate_stride + first, count, access, g);
#pragma unroll
      for (int i = 0; i < N; ++i) u[i] *= Kind::at(g[i]).value;
    }
    store(product + row * rows.extent.width + first, count, access, u);
  });
}

template <class Kind, class T>
__global__ void backward_kernel(T* gate, T* up, const T* dproduct, GatedRows rows) {
  constexpr int N = kVector<T>;
  const Access access = rows.access;
  for_each_vector_of_rows<N>(rows.extent, [&](std::int64_t row, std::int64_t first, std::int64_t count) {
    float d[N];
    float u[N];
    T* const up_at = up + row * rows.up_stride + first;
    load(dproduct + row * rows.extent.width + first, count, access, d);
    load(up_at, count, access, u);
    if (gate == nullptr) {
#pragma unroll
      for (int i = 0; i < N; ++i) u[i] = d[i] * Kind::at(u[i]).slope;
    } else {
      T* const gate_at = gate + row * rows.gate_stride + first;
      float g[N];
      load(gate_at, count, access, g);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const auto acted = Kind::at(g[i]);
        g[i] = d[i] * u[i] * acted.slope;
        u[i] = d[i] * acted.value;
      }
      store(gate_at, count, access, g);
    }
    store(up_at, count, access, u);
  });
}

template <class Kind, class T>
__global__ void slope_kernel(T* d, const T* x, std::int64_t elements, Access access) {
  constexpr int N = kVector<T>;
  for_each_vector<N>(elements, [&](std::int64_t first, std::int64_t count) {
    float product[N];
    float at[N];
    load(d + first, count, access, product);
    load(x + first, count, access, at);
#pragma unroll
    for (int i = 0; i < N; ++i) product[i] *= Kind::at(at[i]).slope;
    store(d + first, count, access, product);
  });
}

// Calls f.operator()<Kind>() with the function of the activation.
template <class F>
void with_kind(spec::Activation kind, F&& f) {
  switch (kind) {
    case spec::Activation::gelu_tanh:
    case spec::Activation::geglu:
      return f.template operator()<GeluTanh>();
    case spec::Activation::gelu:
      return f.template operator()<GeluErf>();
    case spec::Activation::relu:
      return f.template operator()<Relu>();
    case spec::Activation::swiglu:
      return f.template operator()<Silu>();
  }
}

GatedRows gated_rows(const TensorView& product, const RowsView& gate, const RowsView& up, int vector) {
  const RowExtent extent = up.is_dense() && gate.is_dense() ? one_row(up.shape) : rows_of(up.shape);
  const std::int64_t step = extent.rows == 1 ? 0 : std::gcd(std::gcd(gate.stride, up.stride), extent.width);
  return {extent, gate.stride, up.stride, access_of({product.data, gate.data, up.data}, step, vector)};
}

}  // namespace

void CudaOps::do_activation_forward(const ActivationForwardArgs& args) {
  with_element_type(args.up_NF.dtype, [&]<class T>() {
    with_kind(args.kind, [&]<class Kind>() {
      const GatedRows rows = gated_rows(args.product_NF, args.gate_NF, args.up_NF, kVector<T>);
      launch("activation_forward", forward_kernel<Kind, T>, rows_shape(rows.extent, kVector<T>, stream()),
             args.product_NF.as<T>(), args.gate_NF.as<const T>(), args.up_NF.as<const T>(), rows);
    });
  });
}

void CudaOps::do_activation_backward(const ActivationBackwardArgs& args) {
  with_element_type(args.up_NF.dtype, [&]<class T>() {
    with_kind(args.kind, [&]<class Kind>() {
      const GatedRows rows = gated_rows(args.dproduct_NF, args.gate_NF, args.up_NF, kVector<T>);
      launch("activation_backward", backward_kernel<Kind, T>, rows_shape(rows.extent, kVector<T>, stream()),
             args.gate_NF.as<T>(), args.up_NF.as<T>(), args.dproduct_NF.as<const T>(), rows);
    });
  });
}

void CudaOps::multiply_by_gelu_slope(TensorView d, TensorView preactivation) {
  with_element_type(d.dtype, [&]<class T>() {
    launch("gelu_gradient", slope_kernel<GeluTanh, T>, flat_shape(d.elements(), kVector<T>, stream()), d.as<T>(),
           preactivation.as<const T>(), d.elements(), access_of({d.data, preactivation.data}, 0, 1));
  });
}

}  // namespace perfbench::engine::cuda
