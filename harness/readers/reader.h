// A reader turns what a training program printed, or wrote into a file, into samples. Text goes in, in chunks of any
// size, and samples come out: no files, no processes, no clocks.
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

// A reader that does not exist, or a declared metric that cannot be read; the message says what to change.
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

  // Bytes that never end a record wrongly, whatever they are: damage is a note, and not an error.
  virtual void feed(std::string_view bytes, ArrivalTime at_ns) = 0;
  // No more bytes come.
  virtual void finish() {}

  // What a reader of the samples must know, a sentence each. Complete after finish().
  const std::vector<std::string>& notes() const { return notes_; }

 protected:
  void emit(const spec::Sample& sample) { sink_(sample); }
  void note(std::string text) { notes_.push_back(std::move(text)); }

 private:
  SampleSink sink_;
  std::vector<std::string> notes_;
};

enum class Source { log, file };

// What is known of a program's records, beside how they look.
struct ReaderInfo {
  std::string_view name;
  std::string_view reads;  // for people
  Source source = Source::log;
  std::int64_t drop = 0;  // first steps whose times this program is known to get wrong
};

std::span<const ReaderInfo> all_readers();

// Throws ReaderError for an unknown name, with the nearest one.
const ReaderInfo& reader_info(std::string_view name);

// Throws ReaderError.
std::unique_ptr<Reader> make_reader(std::string_view name, const Settings& settings, SampleSink sink);

// The declared metrics that have a regex, in the lines of a log. Throws ReaderError.
std::unique_ptr<Reader> make_declared_reader(const Settings& settings, SampleSink sink);

// The readers of logs that find records in this text, the one with most samples first: a hint for a person who named
// another one.
std::vector<std::string> readers_that_know(std::string_view log);

}  // namespace perfbench::readers
