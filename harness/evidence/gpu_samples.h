// gpu.rank<R>.jsonl of a run directory (workloads/spec/gpu_sample.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "workloads/spec/gpu_sample.h"

namespace perfbench::harness {

struct GpuSamples {
  std::vector<spec::GpuSample> samples;  // by rank, in the order of the file
  std::int64_t unreadable_lines = 0;     // cut off, or damaged: left out
};

// Of all ranks; none for a run on CPUs. Samples are circumstances: a damaged line costs no more than itself, and a file
// that cannot be read counts as one.
GpuSamples read_gpu_samples(const std::filesystem::path& directory, std::int64_t ranks);

}  // namespace perfbench::harness
