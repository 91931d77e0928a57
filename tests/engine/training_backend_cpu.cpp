#include "tests/engine/training_backend.h"

namespace perfbench::engine {

std::string why_no_training() {
  return "";
}

spec::Device device_under_test() {
  return spec::Device::cpu;
}

TrainingBackend make_training_backend(const spec::RunSpec&) {
  return {make_cpu_backing(), make_cpu_backing(), make_cpu_ops(), nullptr};
}

std::vector<float> to_host(const TensorView& values) {
  const auto* const first = values.as<const float>();
  return {first, first + values.elements()};
}

}  // namespace perfbench::engine
