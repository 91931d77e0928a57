// Cosines and sines of rotary positions.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/spec/model_spec.h"

namespace perfbench::engine {

// f32 [T, D]: for every position D/2 cosines, then D/2 sines of position * frequency(i), frequency(i) = theta^(-2i/D)
// (Su et al., "RoFormer", 2021). With llama3 scaling, frequencies below low_freq_factor turns of the original context
// are divided by rope_factor, those above high_freq_factor turns stay the same, and those in between are interpolated
// (Llama 3.1's reference). Angles are computed in f64.
std::vector<float> rope_table(const spec::PositionSpec& position, std::int64_t seq_len, std::int64_t head_dim);

}  // namespace perfbench::engine
