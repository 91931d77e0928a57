#include <algorithm>

#include "engine/ops/cpu/cpu_libraries.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/rows.h"
#include "engine/ops/cpu/sgemm.h"

namespace perfbench::engine {
namespace {

using cpu::Bf16;

struct Problem {
  bool ta = false;
  bool tb = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

Problem problem_of(const MatmulArgs& args) {
  const bool ta = args.transpose_a == Transpose::yes;
  return {.ta = ta,
          .tb = args.transpose_b == Transpose::yes,
          .m = args.c.shape[0],
          .n = args.c.shape[1],
          .k = args.a.shape[ta ? 0 : 1]};
}

// f32 copy of rows [row, row + rows) x columns [column, column + columns) of a bf16 matrix with `width` columns.
const float* widened(const TensorView& t, std::int64_t row, std::int64_t rows, std::int64_t column,
                     std::int64_t columns, std::vector<float>& panel) {
  panel.resize(static_cast<std::size_t>(rows * columns));
  const auto* from = t.as<Bf16>();
  const std::int64_t width = t.shape[1];
#pragma omp parallel for
  for (std::int64_t r = 0; r < rows; ++r) {
    cpu::widen(from + (row + r) * width + column, panel.data() + r * columns, columns);
  }
  return panel.data();
}

void add_bias(const TensorView& c, const TensorView& bias) {
  const std::int64_t n = c.shape[1];
  const auto values = cpu::as_f32(bias);
#pragma omp parallel
  {
    std::vector<float> buffer;
#pragma omp for
    for (std::int64_t row = 0; row < c.shape[0]; ++row) {
      float* out = cpu::change_row(c, row, n, buffer);
      for (std::int64_t i = 0; i < n; ++i) out[i] += values[static_cast<std::size_t>(i)];
      cpu::finish_row(c, row, n, buffer);
    }
  }
}

// Floats of one converted panel: 8 MiB.
constexpr std::int64_t kPanel = std::int64_t{1} << 21;

}  // namespace

// bf16 products are exact in f32, so converting the operands and multiplying in f32 rounds only where sums do and once
// at the end. Operands are converted in panels of bounded size.
void CpuOps::do_matmul(const MatmulArgs& args) {
  const Problem p = problem_of(args);
  const float beta = args.write == Write::accumulate ? 1.0F : 0.0F;
  if (args.a.dtype == DType::f32) {
    cpu::sgemm({.transpose_a = p.ta,
                .transpose_b = p.tb,
                .m = p.m,
                .n = p.n,
                .k = p.k,
                .a = args.a.as<float>(),
                .lda = args.a.shape[1],
                .b = args.b.as<float>(),
                .ldb = args.b.shape[1],
                .beta = beta,
                .c = args.c.as<float>(),
                .ldc = p.n});
    if (args.bias_n.defined()) add_bias(args.c, args.bias_n);
    return;
  }
  const std::int64_t m_step =
      std::clamp<std::int64_t>(kPanel / std::max<std::int64_t>(p.k, 1), 64, p.m < 64 ? 64 : p.m);
  const std::int64_t n_step =
      std::clamp<std::int64_t>(kPanel / std::max<std::int64_t>(p.k, 1), 64, p.n < 64 ? 64 : p.n);
  for (std::int64_t m0 = 0; m0 < p.m; m0 += m_step) {
    const std::int64_t m = std::min(m_step, p.m - m0);
    const float* a = p.ta ? widened(args.a, 0, p.k, m0, m, panel_a_) : widened(args.a, m0, m, 0, p.k, panel_a_);
    for (std::int64_t n0 = 0; n0 < p.n; n0 += n_step) {
      const std::int64_t n = std::min(n_step, p.n - n0);
      const float* b = p.tb ? widened(args.b, n0, n, 0, p.k, panel_b_) : widened(args.b, 0, p.k, n0, n, panel_b_);
      cpu::SgemmArgs product{.transpose_a = p.ta,
                             .transpose_b = p.tb,
                             .m = m,
                             .n = n,
                             .k = p.k,
                             .a = a,
                             .lda = p.ta ? m : p.k,
                             .b = b,
                             .ldb = p.tb ? p.k : n,
                             .beta = beta};
      if (args.c.dtype == DType::f32) {
        product.c = args.c.as<float>() + m0 * p.n + n0;
        product.ldc = p.n;
        cpu::sgemm(product);
        continue;
      }
      panel_c_.resize(static_cast<std::size_t>(m * n));
      product.c = panel_c_.data();
      product.ldc = n;
      auto* out = args.c.as<Bf16>() + m0 * p.n + n0;
      if (beta != 0.0F) {
#pragma omp parallel for
        for (std::int64_t r = 0; r < m; ++r) cpu::widen(out + r * p.n, panel_c_.data() + r * n, n);
      }
      cpu::sgemm(product);
#pragma omp parallel for
      for (std::int64_t r = 0; r < m; ++r) cpu::narrow(panel_c_.data() + r * n, out + r * p.n, n);
    }
  }
  if (args.bias_n.defined()) add_bias(args.c, args.bias_n);
}

// Columns over threads: each sum runs down its column in one order.
void CpuOps::do_bias_backward(TensorView dbias, TensorView dy, Write write) {
  const std::int64_t width = dy.shape[1];
  constexpr std::int64_t kStrip = 128;
  float* out = dbias.as<float>();
#pragma omp parallel for
  for (std::int64_t first = 0; first < width; first += kStrip) {
    const std::int64_t count = std::min(kStrip, width - first);
    float sums[kStrip] = {};
    float row[kStrip];
    for (std::int64_t r = 0; r < dy.shape[0]; ++r) {
      const float* values = row;
      if (dy.dtype == DType::f32) {
        values = dy.as<float>() + r * width + first;
      } else {
        cpu::widen(dy.as<Bf16>() + r * width + first, row, count);
      }
      for (std::int64_t i = 0; i < count; ++i) sums[i] += values[i];
    }
    for (std::int64_t i = 0; i < count; ++i) {
      out[first + i] = (write == Write::accumulate ? out[first + i] : 0.0F) + sums[i];
    }
  }
}

bool CpuOps::emulates(spec::Precision precision) const {
  return precision != spec::Precision::fp32;
}

std::map<std::string, std::string> cpu_library_versions() {
  return cpu::sgemm_library();
}

std::unique_ptr<Ops> make_cpu_ops() {
  return std::make_unique<CpuOps>();
}

}  // namespace perfbench::engine
