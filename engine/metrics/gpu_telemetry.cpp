#include "engine/metrics/gpu_telemetry.h"

#include <utility>

#include "engine/metrics/phase_clock.h"

namespace perfbench::engine {

GpuTelemetry::GpuTelemetry(Read read, const Options& options) : read_(std::move(read)), options_(options) {
  samples_.reserve(options_.capacity);
  thread_ = std::thread([this] { run(); });
}

GpuTelemetry::~GpuTelemetry() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void GpuTelemetry::begin_step(std::int64_t step) {
  const std::scoped_lock lock(mutex_);
  step_ = step;
  samples_.clear();
}

std::vector<spec::GpuSample> GpuTelemetry::end_step() {
  const std::scoped_lock lock(mutex_);
  take_sample();
  step_ = -1;
  return samples_;
}

void GpuTelemetry::take_sample() {
  if (step_ < 0 || samples_.size() == options_.capacity) return;
  auto sample = read_();
  sample.rank = options_.rank;
  sample.step = step_;
  sample.at_ns = monotonic_ns();
  samples_.push_back(sample);
}

void GpuTelemetry::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, options_.period, [this] { return stopping_; })) take_sample();
}

}  // namespace perfbench::engine
