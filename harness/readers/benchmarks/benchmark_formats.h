// The formats of benchmark programs, by name.
#pragma once

#include <span>
#include <string_view>

#include "harness/readers/benchmarks/benchmark_file.h"

namespace perfbench::readers {

struct BenchmarkFormat {
  std::string_view name;
  std::string_view reads;  // description for users
  BenchmarkFile (*read)(const BenchmarkSource& source);
};

std::span<const BenchmarkFormat> benchmark_formats();
// Returns nullptr for an unknown name.
const BenchmarkFormat* find_benchmark_format(std::string_view name);

// Reads a whole file. Throws BenchmarkError, also for a file without any row.
BenchmarkFile read_benchmarks(const BenchmarkFormat& format, const BenchmarkSource& source);

}  // namespace perfbench::readers
