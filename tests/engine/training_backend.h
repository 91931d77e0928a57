// The backend that tests of whole training steps are linked with: training_backend_cpu.cpp, or _cuda.cpp (on the CUDA
// runtime or on the emulated one).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/core/memory.h"
#include "engine/core/timeline.h"
#include "engine/ops/ops.h"

namespace perfbench::engine {

struct TrainingBackend {
  std::unique_ptr<ArenaBacking> device_memory;
  std::unique_ptr<ArenaBacking> host_memory;
  std::unique_ptr<Ops> ops;
  std::unique_ptr<Timeline> timeline;  // absent: the host's clock
};

// Empty when the backend can run here.
std::string why_no_training();
spec::Device device_under_test();
// For rank 0 of `run`.
TrainingBackend make_training_backend(const spec::RunSpec& run);
// Waits for the device. f32.
std::vector<float> to_host(const TensorView& values);

}  // namespace perfbench::engine
