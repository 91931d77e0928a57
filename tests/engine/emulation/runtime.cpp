// The functions of the CUDA runtime that the engine calls, on an emulated device whose memory is the host's. Linked in
// place of cudart. The error of a kernel is returned by the next call that waits, as on a device, but only once, so
// that later tests start afresh.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/emulation/launch.h"
#include "tests/engine/emulation/stream.h"

using perfbench::emulation::Block;
using perfbench::emulation::Capture;
using perfbench::emulation::CaptureFault;
using perfbench::emulation::EventState;
using perfbench::emulation::KernelLaunch;
using perfbench::emulation::Stream;

// The types behind the handles.
struct CUstream_st {
  Stream stream;
};
struct CUevent_st {
  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};
struct CUgraph_st {
  std::shared_ptr<Capture> capture;
};
struct CUgraphExec_st {
  std::shared_ptr<Capture> capture;
};

namespace {

constexpr std::size_t kDeviceBytes = std::size_t{8} << 30;
constexpr std::size_t kGuardBytes = 256;
constexpr int kPoison = 0xFF;  // NaN in every floating point type
constexpr unsigned char kGuard = 0xA5;

enum class Kind { device, pinned, managed };
struct Allocation {
  std::size_t bytes;
  Kind kind;
};

// A process uses one of the machine's devices, which are all equal.
int devices_of_machine() {
  const char* const told = std::getenv("PERFBENCH_EMULATED_GPUS");
  return told == nullptr ? 1 : std::atoi(told);
}

struct Device {
  const int count = devices_of_machine();
  // Communication may run on a separate thread.
  std::recursive_mutex mutex;
  std::map<char*, Allocation> allocations;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  CUstream_st default_stream;
  Block block;
  std::thread::id thread = std::this_thread::get_id();  // the first thread to call
  cudaError_t last_error = cudaSuccess;
  std::string failure;  // text of the last cudaErrorLaunchFailure
};

Device& device() {
  static Device one;
  return one;
}

using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t remember(cudaError_t code) {
  if (code != cudaSuccess) device().last_error = code;
  return code;
}

Stream& stream_of(cudaStream_t handle) {
  return (handle == nullptr ? &device().default_stream : handle)->stream;
}

// Runs `wait`, which runs kernels; turns their faults into an error code and its text.
template <class F>
cudaError_t waiting(F wait) {
  const Lock lock(device().mutex);
  try {
    wait();
  } catch (const std::exception& fault) {
    device().failure = fault.what();
    return remember(cudaErrorLaunchFailure);
  }
  return cudaSuccess;
}

// Runs `call`, which uses a stream; turns violations of capture rules into an error code and its text.
template <class F>
cudaError_t enqueuing(F call) {
  const Lock lock(device().mutex);
  try {
    call();
  } catch (const CaptureFault& fault) {
    device().failure = fault.what();
    return remember(cudaErrorStreamCaptureIsolation);
  }
  return cudaSuccess;
}

// Advances the stream until `over` is true, and all others while it waits.
template <class F>
void advance_until(Stream& stream, F over) {
  while (!over()) {
    if (stream.advance()) continue;
    device().default_stream.stream.advance();
    for (const auto& other : device().streams) other->stream.advance();
  }
}

void drain(Stream& stream) {
  advance_until(stream, [&] { return stream.idle(); });
}

void drain_all() {
  drain(device().default_stream.stream);
  for (const auto& stream : device().streams) drain(stream->stream);
}

bool reached(const EventState& event) {
  return event.reached == event.marked;
}

const Allocation* find_allocation(const void* at) {
  auto& all = device().allocations;
  auto* const address = static_cast<char*>(const_cast<void*>(at));
  auto next = all.upper_bound(address);
  if (next == all.begin()) return nullptr;
  --next;
  return address < next->first + next->second.bytes ? &next->second : nullptr;
}

cudaError_t allocate(void** out, std::size_t bytes, Kind kind) {
  const Lock lock(device().mutex);
  std::size_t used = 0;
  for (const auto& [base, allocation] : device().allocations)
    used += allocation.kind == Kind::device ? allocation.bytes : 0;
  if (kind == Kind::device && used + bytes > kDeviceBytes) return remember(cudaErrorMemoryAllocation);
  const std::size_t padded = (bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes + kGuardBytes;
  auto* const base = static_cast<char*>(std::aligned_alloc(kGuardBytes, padded));
  if (base == nullptr) return remember(cudaErrorMemoryAllocation);
  std::memset(base, kPoison, bytes);
  std::memset(base + bytes, kGuard, padded - bytes);
  device().allocations[base] = {bytes, kind};
  *out = base;
  return cudaSuccess;
}

bool guard_intact(const char* base, std::size_t bytes) {
  const std::size_t padded = (bytes + kGuardBytes - 1) / kGuardBytes * kGuardBytes + kGuardBytes;
  return std::all_of(base + bytes, base + padded, [](char c) { return static_cast<unsigned char>(c) == kGuard; });
}

// Waits for the device, as cudaFree does.
cudaError_t release(void* at) {
  if (at == nullptr) return cudaSuccess;
  const cudaError_t waited = waiting(drain_all);
  const Lock lock(device().mutex);
  const auto found = device().allocations.find(static_cast<char*>(at));
  if (found == device().allocations.end()) return remember(cudaErrorInvalidValue);
  const bool intact = guard_intact(found->first, found->second.bytes);
  if (!intact) {
    device().failure =
        "something wrote beyond the end of an allocation of " + std::to_string(found->second.bytes) + " bytes";
    std::fputs(("emulation: " + device().failure + "\n").c_str(), stderr);
    std::abort();  // freed in destructors, which must not throw
  }
  std::free(at);
  device().allocations.erase(found);
  return waited;
}

}  // namespace

namespace perfbench::emulation {

cudaError_t enqueue(KernelLaunch launch, cudaStream_t stream) {
  const Lock lock(device().mutex);
  const auto [gx, gy, gz] = launch.grid;
  const auto [bx, by, bz] = launch.block;
  const bool grid_fits = gx > 0 && gy > 0 && gz > 0 && gx <= 0x7FFFFFFFU && gy <= 65535 && gz <= 65535;
  const bool block_fits = bx > 0 && by > 0 && bz > 0 && bx <= 1024 && by <= 1024 && bz <= 64 &&
                          bx * by * bz <= Block::kMostThreads && launch.shared_bytes <= Block::kMostSharedBytes;
  if (!grid_fits || !block_fits) return remember(cudaErrorInvalidConfiguration);
  stream_of(stream).push([held = std::move(launch)] {
    device().block.run(held);
    return true;
  });
  return cudaSuccess;
}

void enqueue(Work work, cudaStream_t stream) {
  const Lock lock(device().mutex);
  stream_of(stream).push(std::move(work));
}

}  // namespace perfbench::emulation

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = device().count;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  return cudaRuntimeGetVersion(version);
}

const char* cudaGetErrorName(cudaError_t code) {
  switch (code) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorStreamCaptureIsolation:
      return "cudaErrorStreamCaptureIsolation";
    case cudaErrorGraphExecUpdateFailure:
      return "cudaErrorGraphExecUpdateFailure";
    default:
      return "cudaErrorInvalidValue";
  }
}

const char* cudaGetErrorString(cudaError_t code) {
  const bool told = code == cudaErrorLaunchFailure || code == cudaErrorStreamCaptureIsolation;
  return told ? device().failure.c_str() : cudaGetErrorName(code);
}

cudaError_t cudaPeekAtLastError() {
  return device().last_error;
}

cudaError_t cudaGetLastError() {
  return std::exchange(device().last_error, cudaSuccess);
}

cudaError_t cudaSetDevice(int ordinal) {
  return ordinal >= 0 && ordinal < device().count ? cudaSuccess : remember(cudaErrorInvalidValue);
}

// Properties that a kernel may depend on, as on an H100.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  *properties = {};
  properties->uuid.bytes[0] = static_cast<char>(1 + ordinal);
  std::strcpy(properties->name, "emulated sm_90");
  properties->major = 9;
  properties->minor = 0;
  properties->totalGlobalMem = kDeviceBytes;
  properties->multiProcessorCount = 132;
  properties->warpSize = static_cast<int>(Block::kWarpThreads);
  properties->maxThreadsPerBlock = static_cast<int>(Block::kMostThreads);
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->sharedMemPerBlock = Block::kDefaultSharedBytes;
  properties->sharedMemPerBlockOptin = Block::kMostSharedBytes;
  properties->sharedMemPerMultiprocessor = std::size_t{228} << 10;
  properties->l2CacheSize = 50 << 20;
  return cudaSuccess;
}

// The clock is so slow that work for a fixed number of its cycles is short.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  if (attribute != cudaDevAttrClockRate) return remember(cudaErrorNotSupported);
  *value = 1;  // kHz
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:00:00.0");
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return waiting(drain_all);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  const Lock lock(device().mutex);
  device().streams.push_back(std::make_unique<CUstream_st>());
  *stream = device().streams.back().get();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const cudaError_t waited = waiting([&] { drain(stream_of(handle)); });
  const Lock lock(device().mutex);
  std::erase_if(device().streams, [handle](const auto& stream) { return stream.get() == handle; });
  return waited;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return waiting([&] { drain(stream_of(handle)); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  return enqueuing([&] { stream_of(handle).wait_for(event->state); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const Lock lock(device().mutex);
  stream_of(handle).mark(event->state);
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
  if (flags != cudaEventRecordExternal) return cudaEventRecord(event, handle);
  const Lock lock(device().mutex);
  stream_of(handle).mark_external(event->state);
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const Lock lock(device().mutex);
  *status = stream_of(handle).captures() ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
  return enqueuing([&] { stream_of(handle).begin_capture(); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return enqueuing([&] {
    std::vector<Stream*> all;
    for (const auto& stream : device().streams) all.push_back(&stream->stream);
    *graph = new CUgraph_st{stream_of(handle).end_capture(all)};
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = new CUgraphExec_st{graph->capture};
  return cudaSuccess;
}

// A device compares the graphs node by node; here an equal number of nodes counts as the same operations.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo*) {
  if (executable->capture->nodes.size() != graph->capture->nodes.size()) {
    return remember(cudaErrorGraphExecUpdateFailure);
  }
  executable->capture = graph->capture;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  return enqueuing([&] { stream_of(handle).run_graph(*executable->capture); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const auto state = event->state;
  return waiting([&] {
    if (state->stream == nullptr) return;
    advance_until(*state->stream, [&] { return reached(*state) || state->stream->idle(); });
  });
}

// A caller that polls is waiting: the requested work advances. Not so for a watchdog's thread, whose queries would make
// the order of work irreproducible.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const auto state = event->state;
  if (reached(*state)) return cudaSuccess;
  if (std::this_thread::get_id() != device().thread) return cudaErrorNotReady;
  const cudaError_t code = waiting([&] { state->stream->advance(); });
  return code == cudaSuccess ? cudaErrorNotReady : code;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!reached(*start->state) || !reached(*end->state)) return remember(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(end->state->time - start->state->time).count();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** out, std::size_t bytes) {
  return allocate(out, bytes, Kind::device);
}

cudaError_t cudaMallocHost(void** out, std::size_t bytes) {
  return allocate(out, bytes, Kind::pinned);
}

cudaError_t cudaMallocManaged(void** out, std::size_t bytes, unsigned) {
  return allocate(out, bytes, Kind::managed);
}

cudaError_t cudaFree(void* at) {
  return release(at);
}

cudaError_t cudaFreeHost(void* at) {
  return release(at);
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  const Lock lock(device().mutex);
  *total = *free_bytes = kDeviceBytes;
  for (const auto& [base, allocation] : device().allocations)
    *free_bytes -= allocation.kind == Kind::device ? allocation.bytes : 0;
  return cudaSuccess;
}

// Pageable memory is read before the call returns and written only by a call that waits; pinned memory is read and
// written when the stream gets there (Runtime API, "API synchronization behavior").
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t handle) {
  const Lock lock(device().mutex);
  Stream& stream = stream_of(handle);
  if (find_allocation(from) == nullptr) {
    const auto* const first = static_cast<const unsigned char*>(from);
    stream.push([to, held = std::vector<unsigned char>(first, first + bytes)] {
      if (!held.empty()) std::memcpy(to, held.data(), held.size());
      return true;
    });
    return cudaSuccess;
  }
  stream.push([to, from, bytes] {
    std::memmove(to, from, bytes);
    return true;
  });
  return find_allocation(to) == nullptr ? cudaStreamSynchronize(handle) : cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t code = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  return code == cudaSuccess ? cudaStreamSynchronize(nullptr) : code;
}

cudaError_t cudaMemsetAsync(void* at, int value, std::size_t bytes, cudaStream_t handle) {
  const Lock lock(device().mutex);
  stream_of(handle).push([at, value, bytes] {
    std::memset(at, value, bytes);
    return true;
  });
  return cudaSuccess;
}

}  // extern "C"
