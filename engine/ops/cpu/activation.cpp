// Activations of the feed-forward block and their gradients, one pass over memory.
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"
#include "engine/ops/cpu/vector_math.h"

namespace perfbench::engine::cpu {
namespace {

struct ValueAndSlope {
  Vec value;
  Vec slope;
};

struct Relu {
  static ValueAndSlope at(Vec x) {
    // Written so that a NaN stays a NaN.
    return {select(x < Vec{}, Vec{}, x), select(x <= Vec{}, Vec{}, splat(1.0F))};
  }
};

struct Silu {
  static ValueAndSlope at(Vec x) {
    const Vec s = sigmoid(x);
    const Vec value = x * s;
    return {value, s + value * (1.0F - s)};
  }
};

// 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3), is x sigmoid(2u).
struct GeluTanh {
  static ValueAndSlope at(Vec x) {
    constexpr float kTwoRootTwoOverPi = 1.5957691216057308F;
    constexpr float kCubic = 0.044715F;
    const Vec square = x * x;
    const Vec s = sigmoid(kTwoRootTwoOverPi * x * (1.0F + kCubic * square));
    const Vec slope_2u = kTwoRootTwoOverPi * (1.0F + 3.0F * kCubic * square);
    // s (1 - s) is 0 where the polynomial overflows; this avoids infinity * 0.
    const Vec bend = select(s * (1.0F - s) == Vec{}, Vec{}, x * s * (1.0F - s) * slope_2u);
    return {x * s, s + bend};
  }
};

// x Phi(x), Phi(x) = (1 + erf(x / sqrt 2)) / 2.
struct GeluErf {
  static ValueAndSlope at(Vec x) {
    constexpr float kRootHalf = 0.70710678118654752F;
    constexpr float kOneOverRootTwoPi = 0.39894228040143268F;
    const Vec phi = 0.5F * (1.0F + erf(x * kRootHalf));
    const Vec density = kOneOverRootTwoPi * exp(-0.5F * x * x);
    return {x * phi, phi + select(density == Vec{}, Vec{}, x * density)};
  }
};

template <class Kind, class T>
void activate_values(T* product, const T* gate, const T* up, std::int64_t n) {
  for_vectors(
      n,
      [&](std::int64_t i) {
        if (gate == nullptr) {
          store(product + i, Kind::at(load(up + i)).value);
        } else {
          store(product + i, Kind::at(load(gate + i)).value * load(up + i));
        }
      },
      [&](std::int64_t i, std::int64_t part) {
        const Vec acted = Kind::at(load_part((gate == nullptr ? up : gate) + i, part)).value;
        store_part(product + i, gate == nullptr ? acted : acted * load_part(up + i, part), part);
      });
}

template <class Kind, class T>
void activate_gradients(T* gate, T* up, const T* dproduct, std::int64_t n) {
  const auto step = [&](std::int64_t i, std::int64_t count) {
    const Vec d = load_up_to(dproduct + i, count);
    if (gate == nullptr) {
      store_up_to(up + i, d * Kind::at(load_up_to(up + i, count)).slope, count);
      return;
    }
    const auto acted = Kind::at(load_up_to(gate + i, count));
    const Vec linear = load_up_to(up + i, count);
    store_up_to(gate + i, d * linear * acted.slope, count);
    store_up_to(up + i, d * acted.value, count);
  };
  for_vectors(
      n, [&](std::int64_t i) { step(i, kLanes); }, step);
}

template <class Kind, class T>
void multiply_by_slope(T* d, const T* x, std::int64_t n) {
  const auto step = [&](std::int64_t i, std::int64_t count) {
    store_up_to(d + i, load_up_to(d + i, count) * Kind::at(load_up_to(x + i, count)).slope, count);
  };
  for_vectors(
      n, [&](std::int64_t i) { step(i, kLanes); }, step);
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

// Calls f(first element of product, gate, up; elements) for pieces in which all operands are dense: whole ranges, or
// rows if the rows of gate and up are apart. gate is nullptr if there is none.
template <class T, class F>
void for_dense_pieces(const TensorView& product, const RowsView& gate, const RowsView& up, F&& f) {
  if (up.is_dense() && gate.is_dense()) {
    for_ranges(up.elements(), [&](std::int64_t begin, std::int64_t end) {
      f(product.as<T>() + begin, gate.defined() ? gate.as<T>() + begin : nullptr, up.as<T>() + begin, end - begin);
    });
    return;
  }
  const std::int64_t width = up.shape[1];
  for_ranges(
      up.shape[0],
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          f(product.as<T>() + r * width, gate.defined() ? row_of<T>(gate, r) : nullptr, row_of<T>(up, r), width);
        }
      },
      width);
}

}  // namespace

void CpuOps::do_activation_forward(const ActivationForwardArgs& args) {
  with_element_type(args.up_NF.dtype, [&]<class T>() {
    with_kind(args.kind, [&]<class Kind>() {
      for_dense_pieces<T>(args.product_NF, args.gate_NF, args.up_NF, activate_values<Kind, T>);
    });
  });
}

void CpuOps::do_activation_backward(const ActivationBackwardArgs& args) {
  with_element_type(args.up_NF.dtype, [&]<class T>() {
    with_kind(args.kind, [&]<class Kind>() {
      for_dense_pieces<T>(args.dproduct_NF, args.gate_NF, args.up_NF, [](const T* d, T* gate, T* up, std::int64_t n) {
        activate_gradients<Kind, T>(gate, up, d, n);
      });
    });
  });
}

void CpuOps::multiply_by_gelu_slope(TensorView d, TensorView preactivation) {
  with_element_type(d.dtype, [&]<class T>() {
    for_ranges(d.elements(), [&](std::int64_t begin, std::int64_t end) {
      multiply_by_slope<GeluTanh, T>(d.as<T>() + begin, preactivation.as<const T>() + begin, end - begin);
    });
  });
}

}  // namespace perfbench::engine::cpu
