// One block of an emulated kernel: its threads as fibers, what they wait for, and their shared memory. The device
// functions in device_code.h call the block that is running.
//
// A thread runs until it waits or ends. Even blocks of a launch run their threads from the first to the last, odd ones
// from the last to the first, so that a missing barrier shows in one of them.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/engine/emulation/fiber.h"

namespace perfbench::emulation {

// An error of a kernel. It becomes the error of the stream, with kernel, block and thread.
class KernelFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Checks what a device would fault on: an access of `bytes` at an address that is not a multiple of them. Throws
// KernelFault.
inline void require_aligned(const void* address, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes == 0) return;
  throw KernelFault("an access of " + std::to_string(bytes) + " bytes at an address that is no multiple of them");
}

// The place of the running thread; device_code.h gives its parts CUDA's names.
struct Place {
  uint3 thread{};
  uint3 block{};
  dim3 block_size;
  dim3 grid_size;
};
extern Place place;

struct KernelLaunch {
  const char* name = "";
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;  // dynamic shared memory
  bool requests_shared = false;  // whether a block may have more than kSharedWithoutRequest
  std::function<void()> thread;  // the kernel with its arguments
};

// An operation that all threads of a warp's mask do together.
enum class WarpCall { synchronise, exchange, ballot };

class Block {
 public:
  static constexpr unsigned kWarpThreads = 32;
  static constexpr unsigned kMostThreads = 1024;
  static constexpr std::size_t kDefaultSharedBytes = std::size_t{48} << 10;  // static and dynamic, unless opted in
  static constexpr std::size_t kMostSharedBytes = std::size_t{227} << 10;    // of sm_90
  static constexpr std::size_t kSharedWithoutRequest = std::size_t{48} << 10;

  Block();
  ~Block();

  // Runs all blocks of the launch, one after another. Throws KernelFault.
  void run(const KernelLaunch& launch);

  // These are calls of the running thread.
  void synchronise();
  // Returns the number of threads of the block whose `value` is not zero.
  int synchronise_and_count(int value);
  struct Word {
    std::array<unsigned char, 16> bytes{};
  };
  // Returns the word that lane `source` of the warp passed.
  Word exchange(unsigned mask, unsigned source, const Word& word);
  void synchronise_warp(unsigned mask);
  unsigned ballot(unsigned mask, bool vote);
  // `site` identifies the declaration; the first thread of a block that reaches it gets memory filled with NaNs.
  void* shared(const void* site, std::size_t bytes, std::size_t alignment);
  void* dynamic_shared() const { return dynamic_; }
  std::size_t dynamic_shared_bytes() const { return launch_->shared_bytes; }
  static unsigned lane();

 private:
  enum class State { ready, at_barrier, at_warp_call, ended };
  struct Thread {
    State state = State::ready;
    WarpCall call = WarpCall::synchronise;
    unsigned mask = 0;
    unsigned source = 0;
    bool vote = false;
    Word word;    // passed
    Word result;  // received
    unsigned ballot = 0;
  };
  struct SharedArea {
    const void* site;
    std::size_t offset;
    std::size_t bytes;
  };

  static void thread_body();
  void run_block();
  bool run_warp(unsigned first);
  void resume(unsigned thread);
  void wait_for_warp(WarpCall call, unsigned mask);
  void complete_warp_call(unsigned first, unsigned mask);
  std::size_t take_shared(const void* site, std::size_t bytes, std::size_t alignment);
  void check_shared_borders() const;
  std::string describe_waiting() const;
  static unsigned index_of(uint3 thread);

  const KernelLaunch* launch_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Thread> threads_;
  std::vector<uint3> places_;  // of the threads: a table, because division is slower than a switch of threads
  std::array<unsigned, kMostThreads / kWarpThreads> at_warp_call_{};  // threads waiting in each warp
  unsigned running_ = 0;
  unsigned at_barrier_ = 0;
  unsigned ended_ = 0;
  int counted_ = 0;     // votes at the barrier
  int last_count_ = 0;  // of the last barrier
  bool backwards_ = false;
  std::exception_ptr fault_;
  struct alignas(128) Line {
    unsigned char bytes[128];
  };
  std::vector<Line> shared_lines_;
  unsigned char* shared_;  // the memory of the block
  std::vector<SharedArea> areas_;
  std::size_t shared_end_ = 0;    // end with borders
  std::size_t shared_total_ = 0;  // total without borders
  void* dynamic_ = nullptr;
};

// The running block. Kernels run on one host thread at a time (runtime.cpp).
Block& running_block();

}  // namespace perfbench::emulation
