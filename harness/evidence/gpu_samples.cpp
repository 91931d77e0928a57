#include "harness/evidence/gpu_samples.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "harness/evidence/attempt.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace {

void take_lines(std::string_view text, GpuSamples& out) {
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    try {
      out.samples.push_back(spec::parse_gpu_sample(text.substr(begin, end - begin)));
    } catch (const spec::SpecError&) {
      ++out.unreadable_lines;
    }
    begin = end + 1;
  }
}

}  // namespace

GpuSamples read_gpu_samples(const std::filesystem::path& directory, std::int64_t ranks) {
  GpuSamples out;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    try {
      const auto text = spec::read_regular_file(directory / gpu_file(rank), spec::kLargestRecordsBytes);
      if (text) take_lines(*text, out);
    } catch (const spec::FileError&) {
      ++out.unreadable_lines;
    }
  }
  return out;
}

}  // namespace perfbench::harness
