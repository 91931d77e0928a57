// One measurement at a time on a machine: whoever measures holds a lock, and others wait for it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "harness/system/files.h"

namespace perfbench::harness {

// The file of the lock: PERFBENCH_LOCK of the environment, or else perfbench.lock in /run/lock, or in /tmp if not every
// user may write there. It is the same for all users. Containers that share a machine share the lock if they mount it.
// nullopt for PERFBENCH_LOCK=none.
std::optional<std::filesystem::path> machine_lock_file();

enum class LockOutcome {
  held,
  cancelled,    // while it waited
  unavailable,  // the file cannot be used: nobody is kept from measuring
};

// The kernel frees the lock when its process ends, however that happens.
// How a wait for the lock behaves.
struct LockWait {
  int cancel_fd = -1;  // a byte ends the wait
  // Receives a line when the wait begins, and whenever another process holds the lock.
  std::function<void(const std::string&)> say = {};
  std::function<void()> on_tick = {};  // called several times a second; may be empty
};

class MachineLock {
 public:
  explicit MachineLock(std::filesystem::path file) : file_(std::move(file)) {}

  // Makes the file if it does not exist. Returns whether it can be used.
  bool open();
  // Waits for the lock; it is held until the end of this object. `purpose` begins with "perfbench" and is shown to
  // others: "perfbench (quickstart)".
  LockOutcome hold(const std::string& purpose, const LockWait& wait);

 private:
  std::string holder() const;

  std::filesystem::path file_;
  FileDescriptor fd_;
};

// The lock of this process, which it takes once and keeps to its end. Threads may call it.
LockOutcome hold_machine(const std::string& purpose, const LockWait& wait);

}  // namespace perfbench::harness
