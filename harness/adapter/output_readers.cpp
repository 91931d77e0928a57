#include "harness/adapter/output_readers.h"

#include <algorithm>

namespace perfbench::adapter {
namespace {

constexpr std::size_t kBeginningBytes = std::size_t{1} << 20;
constexpr std::size_t kLongestWords = 300;

}  // namespace

OutputReaders::OutputReaders(const spec::ProgramSpec& program, const std::filesystem::path& log,
                             std::vector<std::string> secrets, SampleFile& samples)
    : program_(program),
      settings_{program.metrics, program.work},
      samples_(samples),
      redactor_(std::move(secrets)),
      log_(log) {
  const auto sink = [this](const spec::Sample& sample) { samples_.add(sample); };
  if (!program.reader.empty()) readers_.push_back(readers::make_reader(program.reader, settings_, sink));
  const auto has_regex = [](const auto& entry) { return !entry.second.regex.empty(); };
  if (std::ranges::any_of(program.metrics, has_regex)) {
    readers_.push_back(readers::make_declared_reader(settings_, sink));
  }
}

// Samples are read from the original output. Everything that is kept of it has its secrets removed.
void OutputReaders::take(std::string_view output, readers::ArrivalTime at_ns) {
  seen_.output_bytes += static_cast<std::int64_t>(output.size());
  for (const auto& reader : readers_) reader->feed(output, at_ns);
  take_shown(redactor_.add(output));
}

void OutputReaders::take_shown(std::string_view text) {
  log_.add(text);
  beginning_.append(text.substr(0, kBeginningBytes - beginning_.size()));
  lines_.feed(text, std::nullopt, [this](std::string_view line, readers::ArrivalTime) { look_at(line); });
}

void OutputReaders::look_at(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return;
  ++seen_.lines;
  seen_.last_line = line.substr(begin, kLongestWords);
  if (!program_.finished.line.empty() && line.find(program_.finished.line) != std::string_view::npos) {
    seen_.finished_line_seen = true;
  }
  if (!seen_.hint) seen_.hint = hint_in(line);
}

void OutputReaders::finish(ProgramEnd& end) {
  take_shown(redactor_.finish());
  lines_.feed("\n", std::nullopt, [this](std::string_view line, readers::ArrivalTime) { look_at(line); });
  log_.finish();
  for (const auto& reader : readers_) {
    reader->finish();
    for (const auto& note : reader->notes()) {
      if (std::ranges::find(end.notes, note) == end.notes.end()) end.notes.push_back(note);
    }
  }
  end.output_bytes = seen_.output_bytes;
  end.dropped_bytes = log_.dropped_bytes();
  end.lines = seen_.lines;
  end.last_line = seen_.last_line;
  end.finished_line_seen = seen_.finished_line_seen;
  end.hint = seen_.hint;
  if (samples_.samples().empty() && !program_.reader.empty())
    end.other_readers = readers::readers_that_know(beginning_);
}

}  // namespace perfbench::adapter
