#include "harness/pairs/instruction_counter.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "harness/system/files.h"

namespace perfbench::harness {
namespace {

enum class Inherit { own_thread, own_thread_and_children };

FileDescriptor open_counter(Inherit inherit) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
  attributes.disabled = 1;
  attributes.inherit = inherit == Inherit::own_thread_and_children ? 1 : 0;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  constexpr int kThisThread = 0;
  constexpr int kAnyCore = -1;
  constexpr int kNoGroup = -1;
  return FileDescriptor(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, kThisThread, kAnyCore, kNoGroup, PERF_FLAG_FD_CLOEXEC)));
}

// nullopt if the counter had to yield to others for part of the time.
std::optional<std::int64_t> read_counter(const FileDescriptor& fd) {
  std::array<std::uint64_t, 3> values{};  // count, time enabled, time running
  if (read(fd.get(), values.data(), sizeof values) != static_cast<ssize_t>(sizeof values)) return std::nullopt;
  if (values[2] < values[1]) return std::nullopt;
  return static_cast<std::int64_t>(values[0]);
}

class HardwareCounter : public InstructionCounter {
 public:
  HardwareCounter() {
    const auto tried = open_counter(Inherit::own_thread_and_children);
    if (!tried.is_open()) unavailable_ = std::string("perf_event_open: ") + std::strerror(errno);
  }

  std::string unavailable() const override { return unavailable_; }

  // Ended children are counted by the descriptor that they inherited, so each run has its own.
  void start() override {
    if (!unavailable_.empty()) return;
    all_ = open_counter(Inherit::own_thread_and_children);
    own_ = open_counter(Inherit::own_thread);
    if (!all_.is_open() || !own_.is_open()) return;
    ioctl(own_.get(), PERF_EVENT_IOC_ENABLE, 0);
    ioctl(all_.get(), PERF_EVENT_IOC_ENABLE, 0);
  }

  std::optional<std::int64_t> stop() override {
    if (!all_.is_open() || !own_.is_open()) return std::nullopt;
    const auto all = read_counter(all_);
    const auto own = read_counter(own_);
    all_ = FileDescriptor();
    own_ = FileDescriptor();
    if (!all || !own) return std::nullopt;
    return *all - *own;
  }

 private:
  std::string unavailable_;
  FileDescriptor all_;
  FileDescriptor own_;
};

}  // namespace

std::unique_ptr<InstructionCounter> hardware_instruction_counter() {
  return std::make_unique<HardwareCounter>();
}

}  // namespace perfbench::harness
