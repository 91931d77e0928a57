// Samples a GPU beside the steps, from a thread of its own, into memory that was reserved before.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "workloads/spec/gpu_sample.h"

namespace perfbench::engine {

class GpuTelemetry {
 public:
  using Read = std::function<spec::GpuSample()>;  // Nvml::sample, called by the thread
  struct Options {
    std::int64_t rank = 0;
    // A sample takes about a millisecond of one core, none of the GPU.
    std::chrono::milliseconds period{100};
    std::size_t capacity = 4096;  // samples of one step; the rest of a longer step is not sampled
  };
  GpuTelemetry(Read read, const Options& options);
  ~GpuTelemetry();
  GpuTelemetry(const GpuTelemetry&) = delete;
  GpuTelemetry& operator=(const GpuTelemetry&) = delete;

  // Samples from now on belong to `step`.
  void begin_step(std::int64_t step);
  // Ends the step: takes a last sample, so that a step shorter than the period has one, and hands over all since
  // begin_step.
  std::vector<spec::GpuSample> end_step();

 private:
  void run();
  void take_sample();  // with the lock held

  Read read_;
  Options options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::int64_t step_ = -1;  // none under way
  std::vector<spec::GpuSample> samples_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace perfbench::engine
