#include "harness/cli/shell/reading_options.h"

#include <CLI/CLI.hpp>

#include "harness/adapter/metric_option.h"
#include "harness/cli/shell/options.h"
#include "harness/readers/reader.h"

namespace perfbench::harness {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000'000;

std::vector<std::string> names_of(Readers which) {
  std::vector<std::string> names;
  for (const auto& info : readers::all_readers()) {
    if (which == Readers::all || info.source == readers::Source::log) names.emplace_back(info.name);
  }
  return names;
}

}  // namespace

void add_reading_options(CLI::App& command, ReadingOptions& options, const std::string& metric_option,
                         Readers readers) {
  add_name_option(
      command, "--reader", names_of(readers), [&options](const std::string& name) { options.reader = name; },
      "the training program whose log the command prints");
  command
      .add_option(metric_option, options.metrics,
                  "a metric by a regular expression of RE2 whose group `value` is the number; may be repeated")
      ->type_name("NAME=REGEX[:UNIT[:lower|higher]]")
      ->allow_extra_args(false);
  add_number(command, "--steps", options.steps, Bounds<std::int64_t>{0, kMostSteps},
             "steps of a whole run; an attempt with fewer is quarantined");
  add_number(command, "--drop", options.drop, Bounds<std::int64_t>{0, kMostSteps},
             "at least this many first steps are excluded from timing");
  command.add_option("--work", options.work, "the work of a step, for tokens/s and MFU; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_reading(const ReadingOptions& options, ProgramWords& words) {
  words.reader = options.reader;
  words.work = options.work;
  words.steps = options.steps;
  words.drop = options.drop;
  try {
    for (const auto& text : options.metrics) words.metrics.insert(adapter::parse_metric_option(text));
  } catch (const readers::ReaderError& e) {
    throw InputError(std::string("[perfbench] a metric: ") + e.what());
  }
}

}  // namespace perfbench::harness
