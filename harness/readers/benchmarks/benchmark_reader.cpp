#include "harness/readers/benchmarks/benchmark_reader.h"

#include <utility>

#include "workloads/spec/regular_file.h"

namespace perfbench::readers {
namespace {

class BenchmarkReader final : public Reader {
 public:
  BenchmarkReader(const BenchmarkFormat& format, SampleSink sink) : Reader(std::move(sink)), format_(format) {}

  void feed(std::string_view bytes, ArrivalTime) override {
    const auto room = static_cast<std::size_t>(spec::kLargestDocumentBytes) - text_.size();
    text_.append(bytes.substr(0, room));
  }

  void finish() override {
    const auto no_files = [](const std::string&) { return std::nullopt; };
    const auto file = read({.bytes = spec::bytes_of(text_), .side_files = no_files});
    if (file.rows.size() > 1) {
      throw ReaderError("its file has " + std::to_string(file.rows.size()) + " benchmarks, such as " +
                        file.rows[0].name + " and " + file.rows[1].name +
                        "; a cell runs one: choose it by a filter on the command line of the program");
    }
    const auto& row = file.rows.front();
    if (row.state != RowState::ok) throw ReaderError(row.name + " did not end well: " + row.reason);
    for (const auto& text : file.notes) note(text);
    for (const auto& sample : samples_of(row)) emit(sample);
  }

 private:
  BenchmarkFile read(const BenchmarkSource& source) const {
    try {
      return read_benchmarks(format_, source);
    } catch (const BenchmarkError& e) {
      throw ReaderError("its " + std::string(format_.name) + " file, line " + e.what());
    }
  }

  const BenchmarkFormat& format_;
  std::string text_;
};

}  // namespace

std::unique_ptr<Reader> make_benchmark_reader(const BenchmarkFormat& format, SampleSink sink) {
  return std::make_unique<BenchmarkReader>(format, std::move(sink));
}

}  // namespace perfbench::readers
