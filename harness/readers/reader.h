// A reader turns the output of a training program, or a file that it wrote, into samples. Text goes in, in chunks of
// any size, and samples come out. A reader uses no files, processes or clocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/readers/line_feed.h"
#include "workloads/spec/program_spec.h"
#include "workloads/spec/sample.h"

namespace perfbench::readers {

// The reader does not exist, or a declared metric cannot be read. The message says what to change.
class ReaderError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Settings {
  std::map<std::string, spec::DeclaredMetric> metrics;
  spec::StepWork work;
};

using SampleSink = std::function<void(const spec::Sample&)>;

class Reader {
 public:
  explicit Reader(SampleSink sink) : sink_(std::move(sink)) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  // Accepts any bytes: damage leads to a note and not to an error.
  virtual void feed(std::string_view bytes, ArrivalTime at_ns) = 0;
  // Called after the last bytes. Throws ReaderError if the file is whole, but does not belong to one run.
  virtual void finish() {}

  // Facts that the reader of the samples must know, one sentence each. Complete after finish().
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  void emit(const spec::Sample& sample) { sink_(sample); }
  void note(std::string text) { notes_.push_back(std::move(text)); }

 private:
  SampleSink sink_;
  std::vector<std::string> notes_;
};

enum class Source { log, file };

// Facts about a program's records beside their format.
struct ReaderInfo {
  std::string_view name;
  std::string_view reads;  // description for users
  Source source = Source::log;
  std::int64_t drop = 0;  // number of first steps whose times this program is known to get wrong
  bool warms_up = false;  // the program leaves its own warm-up out, as benchmarks do, so that every sample counts
};

std::span<const ReaderInfo> all_readers();

// Throws ReaderError for an unknown name and suggests the closest one.
const ReaderInfo& reader_info(std::string_view name);

// Throws ReaderError.
std::unique_ptr<Reader> make_reader(std::string_view name, const Settings& settings, SampleSink sink);

// Finds the declared metrics that have a regex in the lines of a log. Throws ReaderError.
std::unique_ptr<Reader> make_declared_reader(const Settings& settings, SampleSink sink);

// The readers of logs that find records in this text, starting with the one that finds most samples: a hint for a user
// who named another one.
std::vector<std::string> readers_that_know(std::string_view log);

}  // namespace perfbench::readers
