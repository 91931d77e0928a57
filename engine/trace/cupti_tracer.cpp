// Activity tracing through CUPTI. Source: "CUPTI Documentation", Activity API.
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/monotonic_clock.h"
#include "engine/trace/cupti_records.h"
#include "engine/trace/device_tracer.h"

namespace perfbench::engine {
namespace {

void cupti_check(CUptiResult code, const char* call) {
  if (code == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cuptiGetResultString(code, &text);
  throw EngineError(EngineExit::failed,
                    std::string(call) + " failed: " + (text != nullptr ? text : std::to_string(code)));
}

// A kernel has the external id of the call that launched it, and a call has one only if its kind is traced. Both driver
// and runtime calls are traced, because cuBLASLt, cuDNN and NCCL call the driver.
constexpr std::array kKinds{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                            CUPTI_ACTIVITY_KIND_MEMCPY,
                            CUPTI_ACTIVITY_KIND_MEMSET,
                            CUPTI_ACTIVITY_KIND_RUNTIME,
                            CUPTI_ACTIVITY_KIND_DRIVER,
                            CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                            CUPTI_ACTIVITY_KIND_MARKER};
constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
constexpr std::size_t kBufferAlignment = 8;

class CuptiTracer final : public DeviceTracer {
 public:
  CuptiTracer() {
    CuptiTracer* nobody = nullptr;
    if (!current_.compare_exchange_strong(nobody, this)) throw LogicFault("two tracers of one process");
    // The clock of all other parts of the trace; it must be registered before any kind is enabled.
    cupti_check(cuptiActivityRegisterTimestampCallback([] { return static_cast<std::uint64_t>(monotonic_ns()); }),
                "cuptiActivityRegisterTimestampCallback");
    cupti_check(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
  }
  ~CuptiTracer() override {
    if (subscriber_ != nullptr) cuptiUnsubscribe(subscriber_);
    for (const auto kind : kKinds) cuptiActivityDisable(kind);
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    current_ = nullptr;
  }

  void begin_step() override {
    for (const auto kind : kKinds) cupti_check(cuptiActivityEnable(kind), "cuptiActivityEnable");
    // CUPTI installs its hooks during the next CUDA call, in 0.9 ms, for the first call of a process in 4 to 11 ms.
    // This call keeps that out of the step. The device has no work yet. Errors of this call are ignored: they recur in
    // the step, which reports them.
    cudaDeviceSynchronize();
  }

  void begin_span(const TraceSpan& span, std::string_view phase) override {
    std::uint64_t id = 0;
    {
      const std::scoped_lock lock(mutex_);
      id = records_.begin_span(span, phase, monotonic_ns());
    }
    cupti_check(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id),
                "cuptiActivityPushExternalCorrelationId");
  }

  void end_span() override {
    {
      const std::scoped_lock lock(mutex_);
      records_.end_span(monotonic_ns());
    }
    std::uint64_t id = 0;
    cupti_check(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id),
                "cuptiActivityPopExternalCorrelationId");
  }

  std::vector<spec::TraceEvent> end_step(std::int64_t rank, std::int64_t step) override {
    for (const auto kind : kKinds) cupti_check(cuptiActivityDisable(kind), "cuptiActivityDisable");
    cupti_check(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
    const std::scoped_lock lock(mutex_);
    return records_.take(rank, step);
  }

  // The activities are traced as well: otherwise graphs that were instantiated earlier might not be traced node by
  // node.
  bool begin_naming() override {
    // CUPTI allows one subscriber, which may be a profiler around this process.
    if (cuptiSubscribe(&subscriber_, &on_resource, this) != CUPTI_SUCCESS) {
      subscriber_ = nullptr;
      return false;
    }
    for (const auto what : {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
      cupti_check(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, what), "cuptiEnableCallback");
    }
    begin_step();
    return true;
  }

  void end_naming() override {
    cupti_check(cuptiUnsubscribe(std::exchange(subscriber_, nullptr)), "cuptiUnsubscribe");
    end_step(0, 0);
  }

  std::int64_t buffers() const override { return buffers_; }
  std::int64_t dropped_records() const override { return dropped_; }

 private:
  static void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
    *size = *buffer == nullptr ? 0 : kBufferBytes;
    *most_records = 0;  // 0: as many as fit
  }

  // Called on a thread of CUPTI, or within a flush.
  static void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                                   std::size_t valid) {
    if (CuptiTracer* tracer = current_) tracer->read(context, stream, buffer, valid);
    std::free(buffer);
  }

  void read(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid) {
    const std::scoped_lock lock(mutex_);
    ++buffers_;
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) records_.add(record);
    std::size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
      dropped_ += static_cast<std::int64_t>(dropped);
    }
  }

  // Called on the thread that makes the node; NCCL may use a thread of its own for work submitted within a span.
  static void CUPTIAPI on_resource(void* tracer, CUpti_CallbackDomain domain, CUpti_CallbackId what, const void* data) {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || data == nullptr) return;
    const auto* graph =
        static_cast<const CUpti_GraphData*>(static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
    if (graph != nullptr) static_cast<CuptiTracer*>(tracer)->learn(what, *graph);
  }

  // No error may leave a callback. A node that is not known has no name.
  void learn(CUpti_CallbackId what, const CUpti_GraphData& graph) {
    std::uint64_t node = 0;
    if (cuptiGetGraphNodeId(graph.node, &node) != CUPTI_SUCCESS) return;
    std::uint64_t original = 0;
    const bool copied = what == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
    if (copied && cuptiGetGraphNodeId(graph.originalNode, &original) != CUPTI_SUCCESS) return;
    const std::scoped_lock lock(mutex_);
    if (copied) {
      records_.add_node_copy(node, original);
    } else {
      records_.add_node(node);
    }
  }

  static std::atomic<CuptiTracer*> current_;  // CUPTI's callbacks have no user argument

  std::mutex mutex_;
  CuptiRecords records_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::atomic<std::int64_t> buffers_ = 0;
  std::atomic<std::int64_t> dropped_ = 0;
};

std::atomic<CuptiTracer*> CuptiTracer::current_ = nullptr;

}  // namespace

std::unique_ptr<DeviceTracer> make_device_tracer() {
  return std::make_unique<CuptiTracer>();
}

std::string cupti_version() {
  std::uint32_t version = 0;
  cupti_check(cuptiGetVersion(&version), "cuptiGetVersion");
  return "API " + std::to_string(version);
}

}  // namespace perfbench::engine
