// A CUDA runtime, a cuBLASLt and an NCCL that compute nothing: they note what they are asked, from which thread and for
// which device, and answer what a test wants. Linked in place of the libraries, so that what decides when a run hangs
// (who goes first, who asks from where) is tested without a device. What they keep of the libraries: streams that join
// a capture, threads that begin on device 0, and graphs that hold the communicators of their collectives.
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
  int device = 0;  // the current one of the thread
  std::thread::id thread;
  // Of cudaGraphInstantiate the flags; of ncclCommAbort the graphs that hold the communicator; of cublasLtMatmul the
  // algorithm, negative where it adds to its result; of a collective how many elements it was told.
  std::int64_t value = 0;
  int ranks = 0;                 // of a collective's communicator
  const void* stream = nullptr;  // of a collective
};

struct Answers {
  std::atomic<int> devices = 1;
  std::atomic<bool> gpus_have_uuids = true;  // GPU-a1a2a3a4-a5a6-a7a8-a9aa-abacadaeaf00 is number 0
  std::atomic<bool> events_end = true;
  std::atomic<bool> kernels_fail = false;  // what an event is asked for has
  std::atomic<bool> graphs_update = true;
  std::atomic<bool> graphs_instantiate = true;
  std::atomic<int> kernels = 0;  // of each graph that is recorded
  std::atomic<int> kernel = 1;   // which of them all are
  std::atomic<int> cluster = 0;  // blocks of theirs
  std::atomic<bool> memory_is_left = true;
  std::atomic<int> algorithms = 3;  // of every product: numbers from 1 on, in the order of the library's guess
  std::atomic<int> fastest = 2;     // of these
  // How many questions for the state of a communicator are told that its call is still under way.
  std::atomic<std::int64_t> questions_in_progress = 0;
};

// Before each test: no calls, the answers above, the calling thread on device 0.
void begin();
Answers& answers();
// Those of the given names, in their order.
std::vector<Call> calls(const std::vector<std::string_view>& names);
std::vector<std::string> names_of(const std::vector<Call>& calls);
// Until `name` was called `count` times from threads other than this one.
void wait_for_others(std::string_view name, std::size_t count);
// Calls of NCCL that began within another one on the same communicator.
std::int64_t overlapping_calls();
// Streams, events, graphs that were made and not destroyed.
std::int64_t handles();

}  // namespace perfbench::engine::fake_cuda
