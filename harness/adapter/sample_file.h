// samples.jsonl, and the samples in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/system/files.h"
#include "workloads/spec/sample.h"

namespace perfbench::adapter {

class SampleFile {
 public:
  static constexpr std::size_t kMostSamples = 2'000'000;  // no real program prints more

  // Throws RunDirectoryError.
  explicit SampleFile(std::filesystem::path file);

  // Writes at once, so that a process that watches the file sees the progress, and nothing is lost if the adapter dies.
  // Throws RunDirectoryError.
  void add(const spec::Sample& sample);

  // A metric file has more digits than the log, so its metrics replace those from the log. Throws RunDirectoryError.
  void replace_metrics_of(const std::vector<spec::Sample>& better);

  const std::vector<spec::Sample>& samples() const { return samples_; }
  std::int64_t dropped() const { return dropped_; }

 private:
  std::filesystem::path path_;
  harness::FileDescriptor file_;
  std::vector<spec::Sample> samples_;
  std::int64_t dropped_ = 0;
};

}  // namespace perfbench::adapter
