// How to find the numbers in a training program's log: options of every command that runs a program by its command
// line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/app/sweep/program_matrix.h"

namespace CLI {
class App;
}

namespace perfbench::harness {

struct ReadingOptions {
  std::string reader;
  std::vector<std::string> metrics;  // NAME=REGEX[:UNIT[:lower|higher]]
  std::vector<std::string> work;     // KEY=VALUE
  std::int64_t steps = 0;
  std::int64_t drop = 0;
};

// Readers of a program's output, or also those of its metric files.
enum class Readers { of_logs, all };

// --reader, --steps, --drop, --work, and the metrics under the name `metric_option`.
void add_reading_options(CLI::App& command, ReadingOptions& options, const std::string& metric_option,
                         Readers readers = Readers::of_logs);

// Throws InputError for a metric that cannot be read.
void add_reading(const ReadingOptions& options, ProgramWords& words);

}  // namespace perfbench::harness
