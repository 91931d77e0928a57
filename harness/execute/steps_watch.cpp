#include "harness/execute/steps_watch.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "harness/evidence/attempt.h"
#include "workloads/spec/program_json.h"
#include "workloads/spec/program_spec.h"
#include "workloads/spec/record_json.h"
#include "workloads/spec/regular_file.h"
#include "workloads/spec/spec_error.h"

namespace perfbench::harness {
namespace fs = std::filesystem;
namespace {

// The last step in a program's samples. There are many samples, one a line, for each step.
std::int64_t last_sampled_step(const fs::path& samples) {
  constexpr std::int64_t kEnd = 4096;  // longer than a sample
  try {
    const auto file = spec::RegularFile::open(samples, spec::kLargestRecordsBytes);
    if (!file) return 0;
    std::string text(kEnd, '\0');
    text.resize(file->read_at(std::max<std::int64_t>(0, file->bytes() - kEnd), text.data(), text.size()));
    const auto end = text.rfind('\n');
    if (end == std::string::npos || end == 0) return 0;
    const auto begin = text.rfind('\n', end - 1);
    if (begin == std::string::npos) return 0;
    return spec::parse_sample(std::string_view(text).substr(begin + 1, end - begin - 1)).step;
  } catch (const spec::FileError&) {
    return 0;
  } catch (const spec::SpecError&) {
    return 0;  // ingest reports the damage
  }
}

}  // namespace

StepsWatch::StepsWatch(const fs::path& attempt_dir, bool is_program)
    : file_(attempt_dir / (is_program ? std::string(spec::kSamplesFile) : steps_file(0))), is_program_(is_program) {}

std::int64_t StepsWatch::count() {
  if (is_program_) return last_sampled_step(file_);
  count_new_lines();
  return steps_;
}

void StepsWatch::count_new_lines() {
  try {
    const auto file = spec::RegularFile::open(file_, spec::kLargestRecordsBytes);
    if (!file) return;
    std::string block(65536, '\0');
    for (std::size_t got = block.size(); got == block.size() && offset_ < file->bytes();) {
      got = file->read_at(offset_, block.data(), block.size());
      steps_ += std::count(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(got), '\n');
      offset_ += static_cast<std::int64_t>(got);
    }
  } catch (const spec::FileError&) {
    // the number so far
  }
}

}  // namespace perfbench::harness
