// One function for each format of benchmark files. All throw BenchmarkError.
#pragma once

#include "harness/readers/benchmarks/benchmark_file.h"

namespace perfbench::readers {

BenchmarkFile read_google_benchmark(const BenchmarkSource& source);
BenchmarkFile read_nvbench(const BenchmarkSource& source);
BenchmarkFile read_hyperfine(const BenchmarkSource& source);
BenchmarkFile read_pytest_benchmark(const BenchmarkSource& source);
BenchmarkFile read_asv(const BenchmarkSource& source);
// Text and JSON, told apart by the first byte.
BenchmarkFile read_nccl_tests(const BenchmarkSource& source);

}  // namespace perfbench::readers
