// Counts the steps that a run has recorded so far, while its files grow.
#pragma once

#include <cstdint>
#include <filesystem>

namespace perfbench::harness {

class StepsWatch {
 public:
  // `is_program`: the run writes samples of a training program, not step records.
  StepsWatch(const std::filesystem::path& attempt_dir, bool is_program);

  // Reads only what is new since the last call. 0 if the file is missing, not regular or far too large.
  std::int64_t count();

 private:
  void count_new_lines();

  std::filesystem::path file_;
  bool is_program_;
  std::int64_t offset_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace perfbench::harness
