#include "harness/adapter/sample_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "harness/evidence/run_directory.h"
#include "workloads/spec/program_json.h"
#include "workloads/spec/regular_file.h"

namespace perfbench::adapter {
namespace {

harness::FileDescriptor open_samples(const std::filesystem::path& file, int flags) {
  try {
    return harness::FileDescriptor(spec::open_regular_for_writing(file, O_CREAT | flags));
  } catch (const spec::FileError& e) {
    throw harness::RunDirectoryError(std::string("[adapter] ") + e.what());
  }
}

}  // namespace

SampleFile::SampleFile(std::filesystem::path file)
    : path_(std::move(file)), file_(open_samples(path_, O_TRUNC | O_APPEND)) {}

void SampleFile::add(const spec::Sample& sample) {
  if (samples_.size() == kMostSamples) {
    ++dropped_;
    return;
  }
  samples_.push_back(sample);
  if (harness::write_all(file_.get(), spec::to_json_line(sample) + "\n")) return;
  throw harness::RunDirectoryError("[adapter] cannot write " + path_.string() + ": " + std::strerror(errno));
}

void SampleFile::replace_metrics_of(const std::vector<spec::Sample>& better) {
  std::set<std::string> metrics;
  for (const auto& sample : better) metrics.insert(sample.metric);
  const auto removed = std::erase_if(samples_, [&](const auto& sample) { return metrics.contains(sample.metric); });
  if (removed > 0) {
    std::string text;
    for (const auto& sample : samples_) text += spec::to_json_line(sample) + "\n";
    harness::write_atomically(path_, text);
    file_ = open_samples(path_, O_APPEND);
  }
  for (const auto& sample : better) add(sample);
}

}  // namespace perfbench::adapter
