#include "engine/model/distance_buckets.h"

#include <algorithm>
#include <cmath>

namespace perfbench::engine {
namespace {

// A distance on a bound belongs to the upper bucket, however the logarithms round: other distances are further from the
// bound, by at least 1/distance.
constexpr double kOnBound = 1e-9;

std::int64_t bucket_of(std::int64_t distance, const spec::PositionSpec& position) {
  const std::int64_t last = position.t5_buckets - 1;
  const std::int64_t exact = position.t5_buckets / 2;
  if (distance < exact) return distance;
  if (exact == 0 || distance >= position.t5_max_distance) return last;
  const auto unit = static_cast<double>(exact);
  const double part =
      std::log(static_cast<double>(distance) / unit) / std::log(static_cast<double>(position.t5_max_distance) / unit);
  const auto shared = static_cast<double>(position.t5_buckets - exact);
  return std::min(last, exact + static_cast<std::int64_t>(part * shared + kOnBound));
}

}  // namespace

std::vector<std::int32_t> distance_buckets(const spec::PositionSpec& position, std::int64_t seq_len) {
  std::vector<std::int32_t> buckets;
  for (std::int64_t d = 0; d < seq_len; ++d) buckets.push_back(static_cast<std::int32_t>(bucket_of(d, position)));
  return buckets;
}

}  // namespace perfbench::engine
