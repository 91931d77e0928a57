// Dropout by keyed draws, computed for a block of words at a time, so that draws are contiguous.
#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/core/dropout_draws.h"
#include "engine/ops/cpu/cpu_ops.h"
#include "engine/ops/cpu/parallel.h"
#include "engine/ops/cpu/row_sum.h"

namespace perfbench::engine::cpu {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr std::int64_t kDropoutWords = 16;
constexpr std::int64_t kDropoutBlock = kDropoutWords * kDropoutDrawsPerWord;
static_assert(kDropoutBlock % kLanes == 0);

struct Dropout {
  RngStream stream;
  std::uint32_t threshold;
  float factor;

  template <class T>
  void apply(std::uint64_t first_word, const T* x, T* out, std::int64_t width) const {
    for (std::int64_t first = 0; first < width; first += kDropoutBlock) {
      std::uint64_t words[kDropoutWords];
      const std::uint64_t word = first_word + static_cast<std::uint64_t>(first / kDropoutDrawsPerWord);
      for (std::int64_t i = 0; i < kDropoutWords; ++i) words[i] = stream.bits(word + static_cast<std::uint64_t>(i));
      std::uint32_t draws[kDropoutBlock];
      std::memcpy(draws, words, sizeof draws);
      const std::int64_t count = std::min(kDropoutBlock, width - first);
      for (std::int64_t i = 0; i < count; i += kLanes) {
        const std::int64_t lanes = std::min(kLanes, count - i);
        UintVec draw;
        std::memcpy(&draw, draws + i, sizeof draw);
        const auto kept = reinterpret_cast<IntVec>(draw >= threshold);
        store_up_to(out + first + i, select(kept, load_up_to(x + first + i, lanes) * factor, Vec{}), lanes);
      }
    }
  }
};

}  // namespace

void CpuOps::do_dropout(const DropoutArgs& args) {
  const std::int64_t width = args.x_RM.shape[1];
  const auto step = static_cast<std::uint64_t>(*args.step.as<std::int32_t>());
  const Dropout dropout{RngStream(args.seed, args.stream).at(step), dropout_threshold(args.rate),
                        dropout_factor(args.rate)};
  with_element_type(args.out_RM.dtype, [&]<class T>() {
    for_ranges(
        args.x_RM.shape[0],
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t row = begin; row < end; ++row) {
            dropout.apply(dropout_word(args.first_row + row, 0, width), args.x_RM.as<const T>() + row * width,
                          args.out_RM.as<T>() + row * width, width);
          }
        },
        width);
  });
}

}  // namespace perfbench::engine::cpu
