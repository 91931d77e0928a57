// One measurement at a time on a machine: whoever measures holds a lock, and others wait for it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/system/files.h"

namespace perfbench::harness {

// The file of the lock: PERFBENCH_LOCK of the environment, or else perfbench.lock in /run/lock, or, if that cannot be
// written, in the folder of temporary files. Containers that share a machine share the lock if they mount one file.
// nullopt for PERFBENCH_LOCK=none.
std::optional<std::filesystem::path> machine_lock_file();

enum class LockOutcome {
  held,
  cancelled,    // while it waited
  unavailable,  // the file cannot be used: nobody is kept from measuring
};

// The kernel frees the lock when its process ends, however that happens.
class MachineLock {
 public:
  explicit MachineLock(std::filesystem::path file) : file_(std::move(file)) {}

  // Waits for the lock; it is held until the end of this object. `purpose` is shown to others, such as "perfbench sweep
  // quickstart". `say` receives a line when the wait begins, and whenever another process holds it. A byte from
  // `cancel_fd` ends the wait.
  LockOutcome hold(const std::string& purpose, int cancel_fd, const std::function<void(const std::string&)>& say);

 private:
  bool open();
  std::string holder() const;

  std::filesystem::path file_;
  FileDescriptor fd_;
};

// The lock of this process, which it takes once and keeps to its end. Threads may call it.
LockOutcome hold_machine(const std::string& purpose, int cancel_fd, const std::function<void(const std::string&)>& say);

}  // namespace perfbench::harness
