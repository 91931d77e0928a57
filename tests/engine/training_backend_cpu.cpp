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
  backend.host_memory = make_cpu_backing();
  backend.ops = make_cpu_ops();
  return backend;
}

std::vector<float> to_host(const TensorView& values) {
  const auto* const first = values.as<const float>();
  return {first, first + values.elements()};
}

}  // namespace perfbench::engine
