// Steps on request (workloads/spec/turn_files.h).
#pragma once

#include <cstdint>
#include <filesystem>

namespace perfbench::engine {

class Turns {
 public:
  // An empty folder: nobody asks, every wait() returns at once. Throws BadInput where its FIFOs are not in the folder.
  Turns(const std::filesystem::path& folder, std::int64_t rank);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Asks, and sleeps in the kernel until this rank's turn.
  void wait();

 private:
  int asks_ = -1;
  int go_ = -1;
};

}  // namespace perfbench::engine
