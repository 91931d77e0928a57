// The buckets of distances of T5's relative positions.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/spec/model_spec.h"

namespace perfbench::engine {

// i32 [T]: of every distance from a query back to a key its bucket, of U = t5_buckets. Those below E = U/2 have one
// each; the others share U - E whose bounds grow by one factor, E (max/E)^(k/(U-E)); the last one has all distances
// from t5_max_distance on (Raffel et al., arXiv:1910.10683, 2.1; one direction, as in its decoder). In f64.
std::vector<std::int32_t> distance_buckets(const spec::PositionSpec& position, std::int64_t seq_len);

}  // namespace perfbench::engine
