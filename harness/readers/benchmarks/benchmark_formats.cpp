#include "harness/readers/benchmarks/benchmark_formats.h"

#include <algorithm>
#include <array>

#include "harness/readers/benchmarks/formats.h"

namespace perfbench::readers {
namespace {

constexpr std::array kFormats{
    BenchmarkFormat{"google-benchmark", "Google Benchmark: JSON of --benchmark_out", &read_google_benchmark},
    BenchmarkFormat{"nvbench", "nvbench: JSON of --json, or of --jsonbin with its samples", &read_nvbench},
    BenchmarkFormat{"hyperfine", "hyperfine: JSON of --export-json", &read_hyperfine},
    BenchmarkFormat{"pytest-benchmark", "pytest-benchmark: JSON of --benchmark-json", &read_pytest_benchmark},
    BenchmarkFormat{"asv", "airspeed velocity: a result file of .asv/results/MACHINE", &read_asv},
    BenchmarkFormat{"nccl-tests", "nccl-tests: its output, or JSON of -J", &read_nccl_tests},
};

}  // namespace

std::span<const BenchmarkFormat> benchmark_formats() {
  return kFormats;
}

const BenchmarkFormat* find_benchmark_format(std::string_view name) {
  const auto* const found = std::ranges::find(kFormats, name, &BenchmarkFormat::name);
  return found == kFormats.end() ? nullptr : found;
}

BenchmarkFile read_benchmarks(const BenchmarkFormat& format, const BenchmarkSource& source) {
  auto file = format.read(source);
  if (file.rows.empty()) throw BenchmarkError(1, "it has no benchmark in the format " + std::string(format.name));
  for (auto& row : file.rows) {
    if (row.state != RowState::ok && row.reason.empty()) row.reason = "the file gives no reason";
  }
  return file;
}

}  // namespace perfbench::readers
