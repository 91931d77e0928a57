#include "engine/cuda/cuda_timeline.h"

#include <cmath>

#include "engine/cuda/cuda_event.h"

namespace perfbench::engine {
namespace {

class CudaTimeline final : public Timeline {
 public:
  explicit CudaTimeline(const CudaDevice& device) : stream_(device.compute()) {}

  void start() override {
    used_ = 0;
    mark();
  }

  void mark() override {
    // In a recording an event would only order its nodes; an external one is recorded anew with each replay.
    const unsigned flags = is_captured(stream_) ? cudaEventRecordExternal : cudaEventRecordDefault;
    cuda_check(cudaEventRecordWithFlags(next().get(), stream_, flags), "cudaEventRecordWithFlags");
  }

  void skip(std::size_t marks) override {
    for (std::size_t i = 0; i < marks; ++i) next();
  }

  std::vector<std::int64_t> gaps_ns() override {
    std::vector<std::int64_t> gaps;
    if (used_ == 0) return gaps;
    cuda_check(cudaEventSynchronize(events_[used_ - 1].get()), "cudaEventSynchronize");
    for (std::size_t i = 1; i < used_; ++i) {
      float milliseconds = 0;
      cuda_check(cudaEventElapsedTime(&milliseconds, events_[i - 1].get(), events_[i].get()), "cudaEventElapsedTime");
      gaps.push_back(std::llround(static_cast<double>(milliseconds) * 1e6));
    }
    return gaps;
  }

 private:
  // The n-th mark of every step is the same event, so a recording keeps its marks.
  CudaEvent& next() {
    if (used_ == events_.size()) events_.emplace_back(cudaEventDefault);
    return events_[used_++];
  }

  cudaStream_t stream_;
  std::vector<CudaEvent> events_;
  std::size_t used_ = 0;
};

}  // namespace

std::unique_ptr<Timeline> make_cuda_timeline(const CudaDevice& device) {
  return std::make_unique<CudaTimeline>(device);
}

}  // namespace perfbench::engine
