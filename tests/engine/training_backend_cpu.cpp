#include <gtest/gtest.h>

#include "engine/core/bf16.h"
#include "tests/engine/training_backend.h"

namespace perfbench::engine {

std::string why_no_training() {
  return "";
}

spec::Device device_under_test() {
  return spec::Device::cpu;
}

bool is_slow() {
  return false;
}

Backend make_training_backend(const spec::RunSpec&, std::int64_t) {
  Backend backend;
  backend.device_memory = make_cpu_backing();
  backend.host_memory = make_file_backing(testing::TempDir());
  backend.ops = make_cpu_ops();
  return backend;
}

std::vector<float> to_host(const TensorView& values) {
  std::vector<float> out(static_cast<std::size_t>(values.elements()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = values.dtype == DType::bf16 ? to_f32(values.as<const Bf16>()[i]) : values.as<const float>()[i];
  }
  return out;
}

}  // namespace perfbench::engine
