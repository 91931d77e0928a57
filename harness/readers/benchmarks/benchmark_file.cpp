#include "harness/readers/benchmarks/benchmark_file.h"

namespace perfbench::readers {

std::vector<spec::Sample> samples_of(const BenchmarkRow& row) {
  std::vector<spec::Sample> out;
  for (const auto& [metric, values] : row.samples) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      out.push_back({.metric = metric, .step = static_cast<std::int64_t>(i) + 1, .value = values[i]});
    }
  }
  for (const auto& [metric, value] : row.averages) {
    out.push_back(
        {.metric = metric, .step = 1, .covers = 0, .value = value, .kind = spec::SampleKind::since_start_mean});
  }
  return out;
}

}  // namespace perfbench::readers
