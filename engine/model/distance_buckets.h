// The distance buckets of T5's relative positions.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/spec/model_spec.h"

namespace perfbench::engine {

// i32 [T]: the bucket of every distance from a query back to a key; there are U = t5_buckets. Distances below E = U/2
// have a bucket each. The others share U - E buckets whose bounds grow by one factor, E (max/E)^(k/(U-E)); the last one
// has all distances from t5_max_distance on (Raffel et al., arXiv:1910.10683, 2.1; one direction, as in its decoder).
// Computed in f64.
std::vector<std::int32_t> distance_buckets(const spec::PositionSpec& position, std::int64_t seq_len);

}  // namespace perfbench::engine
