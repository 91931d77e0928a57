#include <algorithm>
#include <cmath>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/numerics.h"
#include "engine/ops/cpu/rows.h"

namespace perfbench::engine {
namespace {

struct Moments {
  float mean = 0;
  float rstd = 0;
};

Moments moments_of(const float* x, std::int64_t m, spec::NormKind kind, double eps) {
  const auto width = static_cast<float>(m);
  Moments out;
  if (kind == spec::NormKind::layernorm) out.mean = cpu::lane_sum(m, [x](std::int64_t i) { return x[i]; }) / width;
  const float mean = out.mean;
  const float square = cpu::lane_sum(m, [x, mean](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); });
  out.rstd = 1.0F / std::sqrt(square / width + static_cast<float>(eps));
  return out;
}

// The one formula of y, so that norm_apply has norm_forward's bits.
void normalise(float* y, const float* x, Moments at, const std::vector<float>& weight, const std::vector<float>& bias) {
  const auto m = static_cast<std::int64_t>(weight.size());
  const float* w = weight.data();
  if (bias.empty()) {
    for (std::int64_t i = 0; i < m; ++i) y[i] = (x[i] - at.mean) * at.rstd * w[i];
  } else {
    const float* b = bias.data();
    for (std::int64_t i = 0; i < m; ++i) y[i] = (x[i] - at.mean) * at.rstd * w[i] + b[i];
  }
}

enum class Statistics { compute, given };

void norm_rows(const NormForwardArgs& args, Statistics mode) {
  const std::int64_t n = args.x_NM.shape[0];
  const std::int64_t m = args.x_NM.shape[1];
  const auto weight = cpu::as_f32(args.weight_M);
  const auto bias = cpu::as_f32(args.bias_M);
  const bool centred = args.kind == spec::NormKind::layernorm;
  float* means = args.statistics.as<float>();
  float* rstds = means + (centred ? n : 0);
#pragma omp parallel
  {
    std::vector<float> x_buffer;
    std::vector<float> y_buffer;
#pragma omp for
    for (std::int64_t row = 0; row < n; ++row) {
      const float* x = cpu::read_row(args.x_NM, row, m, x_buffer);
      Moments at;
      if (mode == Statistics::compute) {
        at = moments_of(x, m, args.kind, args.eps);
        if (centred) means[row] = at.mean;
        rstds[row] = at.rstd;
      } else {
        at = {centred ? means[row] : 0.0F, rstds[row]};
      }
      normalise(cpu::write_row(args.y_NM, row, m, y_buffer), x, at, weight, bias);
      cpu::finish_row(args.y_NM, row, m, y_buffer);
    }
  }
}

// dx of one row: rstd * (g - mean(g) - xhat * mean(g * xhat)), g = dy * weight; without the mean(g) for rmsnorm.
void norm_row_backward(float* dx, const float* dy, const float* x, Moments at, const std::vector<float>& weight,
                       spec::NormKind kind, Write write) {
  const auto m = static_cast<std::int64_t>(weight.size());
  const float* w = weight.data();
  const auto width = static_cast<float>(m);
  const float along =
      cpu::lane_sum(m, [&](std::int64_t i) { return dy[i] * w[i] * ((x[i] - at.mean) * at.rstd); }) / width;
  const bool centred = kind == spec::NormKind::layernorm;
  const float level = centred ? cpu::lane_sum(m, [&](std::int64_t i) { return dy[i] * w[i]; }) / width : 0.0F;
  const float keep = write == Write::accumulate ? 1.0F : 0.0F;
  if (keep == 0.0F) std::fill(dx, dx + m, 0.0F);
  for (std::int64_t i = 0; i < m; ++i) {
    const float normed = (x[i] - at.mean) * at.rstd;
    dx[i] += at.rstd * (dy[i] * w[i] - level - normed * along);
  }
}

// Rows per partial sum of the parameter gradients: fixed, so that the bits do not depend on the number of threads.
constexpr std::int64_t kRowsPerPartial = 32;

}  // namespace

void CpuOps::do_norm_forward(const NormForwardArgs& args) {
  norm_rows(args, Statistics::compute);
}

void CpuOps::do_norm_apply(const NormForwardArgs& args) {
  norm_rows(args, Statistics::given);
}

void CpuOps::do_norm_backward(const NormBackwardArgs& args) {
  const std::int64_t n = args.x_NM.shape[0];
  const std::int64_t m = args.x_NM.shape[1];
  const auto weight = cpu::as_f32(args.weight_M);
  const bool centred = args.kind == spec::NormKind::layernorm;
  const float* means = args.statistics.as<float>();
  const float* rstds = means + (centred ? n : 0);
  const std::int64_t partials = (n + kRowsPerPartial - 1) / kRowsPerPartial;
  partial_sums_.assign(static_cast<std::size_t>(partials * 2 * m), 0.0F);
#pragma omp parallel
  {
    std::vector<float> x_buffer;
    std::vector<float> dy_buffer;
    std::vector<float> dx_buffer;
#pragma omp for
    for (std::int64_t part = 0; part < partials; ++part) {
      float* dw = partial_sums_.data() + part * 2 * m;
      float* db = dw + m;
      for (std::int64_t row = part * kRowsPerPartial; row < std::min(n, (part + 1) * kRowsPerPartial); ++row) {
        const float* x = cpu::read_row(args.x_NM, row, m, x_buffer);
        const float* dy = cpu::read_row(args.dy_NM, row, m, dy_buffer);
        const Moments at{centred ? means[row] : 0.0F, rstds[row]};
        for (std::int64_t i = 0; i < m; ++i) dw[i] += dy[i] * ((x[i] - at.mean) * at.rstd);
        for (std::int64_t i = 0; i < m; ++i) db[i] += dy[i];
        float* dx = cpu::change_row(args.dx_NM, row, m, dx_buffer);
        norm_row_backward(dx, dy, x, at, weight, args.kind, args.write_dx);
        cpu::finish_row(args.dx_NM, row, m, dx_buffer);
      }
    }
  }
  const auto reduce = [&](const TensorView& out, std::int64_t offset) {
    if (!out.defined()) return;
    float* sums = out.as<float>();
    if (args.write_parameters == Write::overwrite) std::fill(sums, sums + m, 0.0F);
    for (std::int64_t part = 0; part < partials; ++part) {
      const float* from = partial_sums_.data() + part * 2 * m + offset;
      for (std::int64_t i = 0; i < m; ++i) sums[i] += from[i];
    }
  };
  reduce(args.dweight_M, 0);
  reduce(args.dbias_M, m);
}

}  // namespace perfbench::engine
