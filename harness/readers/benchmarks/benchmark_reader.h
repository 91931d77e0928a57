// The file of a benchmark program as a metric file of one run: a cell that runs one benchmark gets its samples. Files
// with many benchmarks are for `perfbench import`.
#pragma once

#include <memory>

#include "harness/readers/benchmarks/benchmark_formats.h"
#include "harness/readers/reader.h"

namespace perfbench::readers {

// Its finish() throws ReaderError for a file that is damaged, that has several benchmarks, or whose benchmark did not
// end well.
std::unique_ptr<Reader> make_benchmark_reader(const BenchmarkFormat& format, SampleSink sink);

}  // namespace perfbench::readers
