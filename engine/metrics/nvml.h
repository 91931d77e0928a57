// NVML, the driver's own telemetry. Opened when it is used: a machine without a driver has no such library, and the
// toolkit's development files need not be there. Prototypes by NVIDIA's "NVML API Reference Guide".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "workloads/spec/gpu_sample.h"

namespace perfbench::engine {

class Nvml {
 public:
  // Nothing, and why in `reason`, without a driver. `library` is what dlopen takes.
  static std::unique_ptr<Nvml> open(std::string& reason, const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;

  using Device = void*;
  // By what cudaDeviceGetPCIBusId gives; nullptr and why in `reason` if the driver has none such.
  Device find(const std::string& pci_bus_id, std::string& reason) const;
  // Everything but rank, step and time.
  spec::GpuSample sample(Device device) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

}  // namespace perfbench::engine
