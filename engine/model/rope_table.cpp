#include "engine/model/rope_table.h"

#include <cmath>
#include <numbers>

namespace perfbench::engine {
namespace {

double frequency(const spec::PositionSpec& position, std::int64_t pair, std::int64_t head_dim) {
  const double base = std::pow(position.rope_theta, -2.0 * static_cast<double>(pair) / static_cast<double>(head_dim));
  if (position.rope_scaling == spec::RopeScaling::none) return base;
  const double wavelength = 2.0 * std::numbers::pi / base;
  const double turns = static_cast<double>(position.rope_original_context) / wavelength;
  if (turns > position.rope_high_freq_factor) return base;
  if (turns < position.rope_low_freq_factor) return base / position.rope_factor;
  const double keep =
      (turns - position.rope_low_freq_factor) / (position.rope_high_freq_factor - position.rope_low_freq_factor);
  return (1.0 - keep) * base / position.rope_factor + keep * base;
}

}  // namespace

std::vector<float> rope_table(const spec::PositionSpec& position, std::int64_t seq_len, std::int64_t head_dim) {
  const std::int64_t half = head_dim / 2;
  std::vector<float> table(static_cast<std::size_t>(seq_len * head_dim));
  for (std::int64_t i = 0; i < half; ++i) {
    const double f = frequency(position, i, head_dim);
    for (std::int64_t t = 0; t < seq_len; ++t) {
      const double angle = static_cast<double>(t) * f;
      table[static_cast<std::size_t>(t * head_dim + i)] = static_cast<float>(std::cos(angle));
      table[static_cast<std::size_t>(t * head_dim + half + i)] = static_cast<float>(std::sin(angle));
    }
  }
  return table;
}

}  // namespace perfbench::engine
