// libFuzzer: any bytes as the file of any benchmark program give rows that can be stored, or an error with its line;
// the same in whatever pieces they are read. The first byte chooses the format, the second the pieces. The same bytes
// serve as every file beside it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/readers/benchmarks/benchmark_formats.h"
#include "workloads/spec/program_json.h"

namespace {

using namespace perfbench;

void demand(bool holds) {
  if (!holds) std::abort();
}

// The rows as text, or the error.
std::string read(const readers::BenchmarkFormat& format, std::string_view text, std::size_t piece) {
  const spec::ByteReader bytes = [rest = text, piece](char* data, std::size_t size) mutable {
    const auto count = rest.copy(data, std::min(size, piece));
    rest.remove_prefix(count);
    return count;
  };
  const auto side_files = [text](const std::string&) { return std::string(text); };
  std::string out;
  try {
    const auto file = readers::read_benchmarks(format, {.bytes = bytes, .side_files = side_files});
    demand(!file.rows.empty());
    for (const auto& row : file.rows) {
      out += row.name + row.statistic + row.reason + "\n";
      demand(row.state == readers::RowState::ok || !row.reason.empty());
      demand(row.state != readers::RowState::ok || !row.samples.empty() || !row.averages.empty());
      for (const auto& sample : readers::samples_of(row)) {
        const auto line = spec::to_json_line(sample);
        demand(line == spec::to_json_line(spec::parse_sample(line)));
        out += line + "\n";
      }
    }
  } catch (const readers::BenchmarkError& e) {
    out = e.what();
    demand(out.find(": ") != std::string::npos);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto formats = readers::benchmark_formats();
  const auto& format = formats[data[0] % formats.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  demand(read(format, text, text.size() + 1) == read(format, text, 1 + data[1] % 16));
  return 0;
}
