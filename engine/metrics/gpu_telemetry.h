// Samples a GPU beside the steps, in a separate thread, into memory reserved in advance.
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
    // A sample takes about a millisecond of one core and no time on the GPU.
    std::chrono::milliseconds period{100};
    std::size_t capacity = 4096;  // samples in one step; the rest of a longer step is not sampled
  };
  GpuTelemetry(Read read, const Options& options);
  ~GpuTelemetry();
  GpuTelemetry(const GpuTelemetry&) = delete;
  GpuTelemetry& operator=(const GpuTelemetry&) = delete;

  // Assigns samples from now on to `step`.
  void begin_step(std::int64_t step);
  // Ends the step: takes a last sample, so that a step shorter than the period has one, and returns all samples since
  // begin_step.
  std::vector<spec::GpuSample> end_step();

 private:
  void run();
  void take_sample();  // the caller holds the lock

  Read read_;
  Options options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::int64_t step_ = -1;  // -1: no step under way
  std::vector<spec::GpuSample> samples_;
  std::thread thread_;  // declared last because it uses all of the above
};

}  // namespace perfbench::engine
