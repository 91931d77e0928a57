#include "harness/run/gpu_samples.h"

#include <fstream>
#include <string>

#include "harness/run/attempt.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {

GpuSamples read_gpu_samples(const std::filesystem::path& directory, std::int64_t ranks) {
  GpuSamples out;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    std::ifstream file(directory / gpu_file(rank));
    for (std::string line; std::getline(file, line);) {
      try {
        out.samples.push_back(spec::parse_gpu_sample(line));
      } catch (const spec::SpecError&) {
        ++out.unreadable_lines;
      }
    }
  }
  return out;
}

}  // namespace perfbench::harness
