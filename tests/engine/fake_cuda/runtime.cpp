#include <cuda.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "tests/engine/fake_cuda/fake_cuda.h"
#include "tests/engine/fake_cuda/handles.h"

namespace perfbench::engine::fake_cuda {
namespace {

struct Log {
  std::mutex mutex;
  std::condition_variable grown;
  std::vector<Call> calls;
  std::atomic<std::int64_t> overlapping = 0;
  std::atomic<std::int64_t> handles = 0;
  std::atomic<double> clock_ms = 0;
};

Log& log() {
  static Log one;
  return one;
}

thread_local int current_device = 0;

template <class Handle>
cudaError_t make(Handle** handle) {
  *handle = new Handle;
  ++log().handles;
  return cudaSuccess;
}

template <class Handle>
cudaError_t destroy(Handle* handle) {
  delete handle;
  --log().handles;
  return cudaSuccess;
}

void hold(const std::vector<ncclComm*>& communicators, int more) {
  for (ncclComm* communicator : communicators) communicator->held_by += more;
}

}  // namespace

Answers& answers() {
  static Answers one;
  return one;
}

void begin() {
  const std::scoped_lock lock(log().mutex);
  log().calls.clear();
  log().overlapping = 0;
  current_device = 0;
  answers().devices = 1;
  answers().gpus_have_uuids = true;
  answers().events_end = true;
  answers().graphs_update = true;
  answers().graphs_instantiate = true;
  answers().kernels = 0;
  answers().kernel = 1;
  answers().cluster = 0;
  answers().memory_is_left = true;
  answers().algorithms = 3;
  answers().fastest = 2;
  answers().questions_in_progress = 0;
}

void note(const char* name, std::int64_t value, int ranks, const void* stream) {
  const std::scoped_lock lock(log().mutex);
  log().calls.push_back({name, current_device, std::this_thread::get_id(), value, ranks, stream});
  log().grown.notify_all();
}

void note_overlap() {
  ++log().overlapping;
}

void turn_clock(double by_ms) {
  log().clock_ms = log().clock_ms + by_ms;
}

std::vector<Call> calls(const std::vector<std::string_view>& names) {
  const std::scoped_lock lock(log().mutex);
  std::vector<Call> found;
  for (const auto& call : log().calls) {
    for (const auto name : names) {
      if (call.name == name) found.push_back(call);
    }
  }
  return found;
}

std::vector<std::string> names_of(const std::vector<Call>& calls) {
  std::vector<std::string> names;
  for (const auto& call : calls) names.push_back(call.name);
  return names;
}

void wait_for_others(std::string_view name, std::size_t count) {
  std::unique_lock lock(log().mutex);
  std::size_t next = 0;
  std::size_t found = 0;
  log().grown.wait(lock, [&] {
    for (; next < log().calls.size(); ++next) {
      const auto& call = log().calls[next];
      if (call.name == name && call.thread != std::this_thread::get_id()) ++found;
    }
    return found >= count;
  });
}

std::int64_t overlapping_calls() {
  return log().overlapping;
}

std::int64_t handles() {
  return log().handles;
}

extern "C" {

const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorInvalidDevice ? "cudaErrorInvalidDevice" : "an error";
}
const char* cudaGetErrorString(cudaError_t) {
  return "of the fake runtime";
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = answers().devices;
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaSetDevice(int ordinal) {
  if (ordinal >= answers().devices) return cudaErrorInvalidDevice;
  current_device = ordinal;
  note("cudaSetDevice", ordinal);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  *properties = {};
  if (answers().gpus_have_uuids) {
    for (int i = 0; i < 15; ++i) properties->uuid.bytes[i] = static_cast<char>(0xa1 + i);
    properties->uuid.bytes[15] = static_cast<char>(ordinal);
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int ordinal) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", ordinal);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return make(stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return destroy(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = stream->captured == nullptr ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event->captured != nullptr && stream->captured == nullptr) {
    stream->captured = event->captured;
    stream->captured->joined.push_back(stream);
  }
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  note("cudaEventCreateWithFlags");
  return make(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  note("cudaEventDestroy");
  return destroy(event);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->captured = stream->captured;
  event->at_ms = log().clock_ms;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = static_cast<float>(end->at_ms - begin->at_ms);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t) {
  note("cudaEventQuery");
  if (answers().kernels_fail) return cudaErrorLaunchFailure;
  return answers().events_end ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  make(&stream->captured);
  stream->captured->joined.push_back(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = stream->captured;
  for (cudaStream_t joined : (*graph)->joined) joined->captured = nullptr;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  note("cudaGraphInstantiate", static_cast<std::int64_t>(flags));
  if (!answers().graphs_instantiate) return cudaErrorMemoryAllocation;
  make(executable);
  (*executable)->held = graph->held;
  hold(graph->held, 1);
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo*) {
  note("cudaGraphExecUpdate");
  if (!answers().graphs_update) return cudaErrorGraphExecUpdateFailure;
  hold(executable->held, -1);
  executable->held = graph->held;
  hold(executable->held, 1);
  return cudaSuccess;
}
// The nodes of a graph are the graph itself, repeated, behind one node that is not a kernel.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  *count = static_cast<std::size_t>(answers().kernels) + 1;
  if (nodes == nullptr) return cudaSuccess;
  std::fill_n(nodes, *count, reinterpret_cast<cudaGraphNode_t>(graph));
  nodes[0] = nullptr;
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  *type = node == nullptr ? cudaGraphNodeTypeMemset : cudaGraphNodeTypeKernel;
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t, cudaLaunchAttributeID, cudaLaunchAttributeValue* value) {
  const auto blocks = static_cast<unsigned>(answers().cluster);
  value->clusterDim.x = blocks;
  value->clusterDim.y = value->clusterDim.z = blocks == 0 ? 0 : 1;
  return cudaSuccess;
}
static CUresult get_kernel_node_params(CUgraphNode, CUDA_KERNEL_NODE_PARAMS* params) {
  params->func = reinterpret_cast<CUfunction>(static_cast<std::uintptr_t>(answers().kernel));
  return CUDA_SUCCESS;
}
static cudaError_t find_driver_function(const char* symbol, void** function, cudaDriverEntryPointQueryResult* found) {
  const bool is_known = std::string_view(symbol) == "cuGraphKernelNodeGetParams";
  *found = is_known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  *function = is_known ? reinterpret_cast<void*>(&get_kernel_node_params) : nullptr;
  return cudaSuccess;
}
#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  return find_driver_function(symbol, function, found);
}
#else
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* found) {
  return find_driver_function(symbol, function, found);
}
#endif
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
  note("cudaGraphLaunch");
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  note("cudaGraphDestroy");
  hold(graph->held, -1);
  return destroy(graph);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  note("cudaGraphExecDestroy");
  hold(executable->held, -1);
  return destroy(executable);
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  note("cudaMalloc", static_cast<std::int64_t>(bytes));
  if (!answers().memory_is_left) return cudaErrorMemoryAllocation;
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = *total_bytes = 0;
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                              std::size_t width, std::size_t rows, cudaMemcpyKind, cudaStream_t) {
  for (std::size_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<char*>(to) + row * to_stride, static_cast<const char*>(from) + row * from_stride, width);
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

}  // extern "C"

}  // namespace perfbench::engine::fake_cuda
