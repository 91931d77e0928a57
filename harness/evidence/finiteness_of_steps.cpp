#include "harness/evidence/finiteness_of_steps.h"

#include <algorithm>
#include <string_view>

#include "harness/evidence/attempt.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"
#include "workloads/spec/step_line.h"

namespace perfbench::harness {
namespace {

// A line that cannot be read says nothing here; that the file is damaged is said elsewhere.
void look_at_lines(std::string_view text, spec::Finiteness& out) {
  spec::StepLineReader reader;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    try {
      out.look_at(reader.read(line));
    } catch (const spec::SpecError&) {
      continue;
    }
  }
}

}  // namespace

spec::Finiteness finiteness_of_steps(const std::filesystem::path& directory, std::int64_t ranks) {
  spec::Finiteness out;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    try {
      const auto text = spec::read_regular_file(directory / steps_file(rank), spec::kLargestRecordsBytes);
      if (text) look_at_lines(*text, out);
    } catch (const spec::FileError&) {
      continue;  // said elsewhere, too
    }
  }
  return out;
}

}  // namespace perfbench::harness
