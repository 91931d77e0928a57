#include <algorithm>

#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/rows.h"

namespace perfbench::engine {
namespace {

// Blocks are summed apart and then in order: the same bits for any number of threads.
constexpr std::int64_t kBlock = 16384;
constexpr std::int64_t kLanes = 16;

template <class Term>
double blocked_sum(const TensorView& x, Term term) {
  const std::int64_t n = x.elements();
  const std::int64_t blocks = (n + kBlock - 1) / kBlock;
  std::vector<double> sums(static_cast<std::size_t>(blocks));
#pragma omp parallel
  {
    std::vector<float> buffer;
#pragma omp for
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t first = block * kBlock;
      const std::int64_t count = std::min(kBlock, n - first);
      const float* values = cpu::read_row(x.slice(first, Shape{count}), 0, count, buffer);
      double lanes[kLanes] = {};
      std::int64_t i = 0;
      for (; i + kLanes <= count; i += kLanes) {
        for (std::int64_t j = 0; j < kLanes; ++j) lanes[j] += term(static_cast<double>(values[i + j]));
      }
      for (std::int64_t j = 0; i + j < count; ++j) lanes[j] += term(static_cast<double>(values[i + j]));
      double sum = 0;
      for (const double lane : lanes) sum += lane;
      sums[static_cast<std::size_t>(block)] = sum;
    }
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

void write_scalar(const TensorView& out, double value, Write write) {
  double& scalar = *out.as<double>();
  scalar = (write == Write::accumulate ? scalar : 0.0) + value;
}

}  // namespace

void CpuOps::do_sum(TensorView out_f64, TensorView x, Write write) {
  write_scalar(out_f64, blocked_sum(x, [](double v) { return v; }), write);
}

void CpuOps::do_sum_of_squares(TensorView out_f64, TensorView x, Write write) {
  write_scalar(out_f64, blocked_sum(x, [](double v) { return v * v; }), write);
}

}  // namespace perfbench::engine
