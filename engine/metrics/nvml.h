// NVML, the driver's own telemetry. The library is opened at run time: a machine without a driver does not have it, and
// the toolkit's development files need not be installed. Prototypes follow NVIDIA's "NVML API Reference Guide".
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "workloads/spec/gpu_sample.h"

namespace perfbench::engine {

class Nvml {
 public:
  // Returns null without a driver, with the reason in `reason`. `library` is passed to dlopen.
  static std::unique_ptr<Nvml> open(std::string& reason, const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;

  using Device = void*;
  // Finds the device by the result of cudaDeviceGetPCIBusId; returns nullptr, with the reason in `reason`, if the
  // driver does not know it.
  Device find(const std::string& pci_bus_id, std::string& reason) const;
  // Fills everything but rank, step and time.
  spec::GpuSample sample(Device device) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

}  // namespace perfbench::engine
