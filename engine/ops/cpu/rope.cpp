#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/rows.h"

namespace perfbench::engine {

void CpuOps::do_rope(const RopeArgs& args) {
  const std::int64_t width = args.x.shape[1];
  const std::int64_t positions = args.cos_sin_TD.shape[0];
  const std::int64_t half = args.head_dim / 2;
  const float sign = args.direction == Direction::forward ? 1.0F : -1.0F;
  // A pair is (i, i + half) or (2i, 2i + 1).
  const bool split = args.layout == spec::RopeLayout::half;
  const std::int64_t first_stride = split ? 1 : 2;
  const std::int64_t second = split ? half : 1;
#pragma omp parallel
  {
    std::vector<float> buffer;
#pragma omp for
    for (std::int64_t row = 0; row < args.x.shape[0]; ++row) {
      float* x = cpu::change_row(args.x, row, width, buffer);
      const float* cosines = args.cos_sin_TD.as<float>() + (row % positions) * args.head_dim;
      const float* sines = cosines + half;
      for (std::int64_t head = 0; head < width; head += args.head_dim) {
        float* h = x + head;
        for (std::int64_t i = 0; i < half; ++i) {
          const float a = h[i * first_stride];
          const float b = h[i * first_stride + second];
          const float s = sign * sines[i];
          h[i * first_stride] = a * cosines[i] - b * s;
          h[i * first_stride + second] = a * s + b * cosines[i];
        }
      }
      cpu::finish_row(args.x, row, width, buffer);
    }
  }
}

}  // namespace perfbench::engine
