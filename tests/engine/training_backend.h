// The backend that tests of whole training steps are linked with: training_backend_cpu.cpp, or _cuda.cpp (on the CUDA
// runtime or on the emulated one).
#pragma once

#include <string>
#include <vector>

#include "engine/train/assembly.h"

namespace perfbench::engine {

// Empty if the backend can run here.
std::string why_no_training();
spec::Device device_under_test();
// Whether a step takes seconds, as on an emulated device: tests take fewer runs there.
bool is_slow();
// Without collectives.
Backend make_training_backend(const spec::RunSpec& run, std::int64_t rank = 0);
// Waits for the device. f32, or bf16.
std::vector<float> to_host(const TensorView& values);

}  // namespace perfbench::engine
