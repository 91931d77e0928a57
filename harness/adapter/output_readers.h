// Processes the output of a program chunk by chunk: keeps it, reads it, and watches for the reason of a failure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/adapter/outcome.h"
#include "harness/adapter/output_log.h"
#include "harness/adapter/sample_file.h"
#include "harness/adapter/secrets.h"
#include "harness/readers/reader.h"

namespace perfbench::adapter {

class OutputReaders {
 public:
  // Throws ReaderError, RunDirectoryError. `program` and `samples` must outlive it.
  OutputReaders(const spec::ProgramSpec& program, const std::filesystem::path& log, std::vector<std::string> secrets,
                SampleFile& samples);

  // Throws RunDirectoryError.
  void take(std::string_view output, readers::ArrivalTime at_ns);
  // Adds the facts about the program's end that its output shows. Throws RunDirectoryError.
  void finish(ProgramEnd& end);

 private:
  void take_shown(std::string_view text);
  void look_at(std::string_view line);

  const spec::ProgramSpec& program_;
  readers::Settings settings_;
  SampleFile& samples_;
  Redactor redactor_;
  OutputLog log_;
  std::vector<std::unique_ptr<readers::Reader>> readers_;
  readers::LineFeed lines_;
  std::string beginning_;  // for a hint about a reader that would match
  ProgramEnd seen_;        // lines, last_line, hint and finished_line_seen
};

}  // namespace perfbench::adapter
