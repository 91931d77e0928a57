// A CUDA runtime, a cuBLASLt and an NCCL that compute nothing: they note each call with its thread and device, and
// answer as a test demands. They are linked in place of the libraries, so that the order of calls, and which thread
// makes them, which decide whether a run hangs, are tested without a device. They imitate three properties of the
// libraries: streams that join a capture, threads that begin on device 0, and graphs that hold the communicators of
// their collectives.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace perfbench::engine::fake_cuda {

struct Call {
  std::string name;
  int device = 0;  // the thread's current device
  std::thread::id thread;
  // For cudaGraphInstantiate the flags; for ncclCommAbort the number of graphs that hold the communicator; for
  // cublasLtMatmul the algorithm, negative if it adds to its result; for a collective its number of elements.
  std::int64_t value = 0;
  int ranks = 0;                 // of a collective's communicator
  const void* stream = nullptr;  // of a collective
};

struct Answers {
  std::atomic<int> devices = 1;
  std::atomic<bool> gpus_have_uuids = true;  // GPU-a1a2a3a4-a5a6-a7a8-a9aa-abacadaeaf00 is number 0
  std::atomic<bool> events_end = true;
  std::atomic<bool> kernels_fail = false;  // whether an event's work has ended when it is queried
  std::atomic<bool> graphs_update = true;
  std::atomic<bool> graphs_instantiate = true;
  std::atomic<int> kernels = 0;  // in each graph that is recorded
  std::atomic<int> kernel = 1;   // the kernel that all of them are
  std::atomic<int> cluster = 0;  // blocks in a cluster
  std::atomic<bool> memory_is_left = true;
  std::atomic<int> algorithms = 3;  // for every product: numbers from 1 on, in the order of the library's guess
  std::atomic<int> fastest = 2;     // the fastest of these
  // How many queries of a communicator's state return that its call is still in progress.
  std::atomic<std::int64_t> questions_in_progress = 0;
};

// Called before each test: clears the calls, resets the answers above, and puts the calling thread on device 0.
void begin();
Answers& answers();
// The calls with the given names, in order.
std::vector<Call> calls(const std::vector<std::string_view>& names);
std::vector<std::string> names_of(const std::vector<Call>& calls);
// Waits until `name` was called `count` times from threads other than this one.
void wait_for_others(std::string_view name, std::size_t count);
// Calls of NCCL that began within another one on the same communicator.
std::int64_t overlapping_calls();
// The number of streams, events and graphs that were made and not destroyed.
std::int64_t handles();

}  // namespace perfbench::engine::fake_cuda
