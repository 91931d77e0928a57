// Stands in for cupti_tracer.cpp in builds without CUPTI.
#include "engine/trace/device_tracer.h"

namespace perfbench::engine {

std::unique_ptr<DeviceTracer> make_device_tracer() {
  return nullptr;
}

std::string cupti_version() {
  return "absent";
}

}  // namespace perfbench::engine
