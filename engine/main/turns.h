// Takes steps on request (workloads/spec/turn_files.h).
#pragma once

#include <cstdint>
#include <filesystem>

namespace perfbench::engine {

class Turns {
 public:
  // With an empty folder every wait() returns at once. Throws BadInput if the folder does not have its FIFOs.
  Turns(const std::filesystem::path& folder, std::int64_t rank);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Announces that this rank is ready, and sleeps in the kernel until its turn.
  void wait();

 private:
  int asks_ = -1;
  int go_ = -1;
};

}  // namespace perfbench::engine
