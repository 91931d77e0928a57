// Rotary position embedding (Su et al., "RoFormer", 2021), in place.
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/document_rows.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"

namespace perfbench::engine::cpu {
namespace {

// Pairs (i, i + half).
template <class T>
void rotate_half(T* head, const float* cosines, const float* sines, std::int64_t half, float sign) {
  for (std::int64_t i = 0; i < half; i += kLanes) {
    const std::int64_t n = std::min(kLanes, half - i);
    const Vec c = load_up_to(cosines + i, n);
    const Vec s = load_up_to(sines + i, n) * sign;
    const Vec x = load_up_to(head + i, n);
    const Vec y = load_up_to(head + half + i, n);
    store_up_to(head + i, x * c - y * s, n);
    store_up_to(head + half + i, x * s + y * c, n);
  }
}

// Pairs (2i, 2i + 1).
template <class T>
void rotate_interleaved(T* head, const float* cosines, const float* sines, std::int64_t half, float sign) {
  for (std::int64_t i = 0; i < half; ++i) {
    const float s = sines[i] * sign;
    const float x = to_f32(head[2 * i]);
    const float y = to_f32(head[2 * i + 1]);
    head[2 * i] = from_f32<T>(x * cosines[i] - y * s);
    head[2 * i + 1] = from_f32<T>(x * s + y * cosines[i]);
  }
}

}  // namespace

void CpuOps::do_rope(const RopeArgs& args) {
  const std::int64_t rows = args.x.shape[0];
  const std::int64_t width = args.x.shape[1];
  const std::int64_t seq_len = args.cos_sin_TD.shape[0];
  const std::int64_t head_dim = args.head_dim;
  const std::int64_t half = head_dim / 2;
  const DocumentRows documents(args.first_N, seq_len);
  const float sign = args.direction == Direction::forward ? 1.0F : -1.0F;
  with_element_type(args.x.dtype, [&]<class T>() {
    for_ranges(
        rows,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            const float* const cosines = args.cos_sin_TD.as<const float>() + documents.position(r) * head_dim;
            T* const row = row_of<T>(args.x, r);
            for (std::int64_t h = 0; h < width; h += head_dim) {
              if (args.layout == spec::RopeLayout::half) {
                rotate_half(row + h, cosines, cosines + half, half, sign);
              } else {
                rotate_interleaved(row + h, cosines, cosines + half, half, sign);
              }
            }
          }
        },
        width);
  });
}

}  // namespace perfbench::engine::cpu
