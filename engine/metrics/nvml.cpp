#include "engine/metrics/nvml.h"

#include <dlfcn.h>

#include <array>

namespace perfbench::engine {
namespace {

// NVML's types and numbers as in its reference guide. They are part of the driver's stable interface.
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr unsigned kSmClock = 1;
constexpr unsigned kMemoryClock = 2;
constexpr unsigned kGpuTemperature = 0;
constexpr int kUncorrected = 1;
constexpr int kSinceDriverLoad = 0;  // counters that the guide calls "volatile"

// nvmlClocksThrottleReason*; newer guides call it nvmlClocksEventReason*.
constexpr unsigned long long kPowerCap = 0x4;
constexpr unsigned long long kHardwareSlowdown = 0x8;
constexpr unsigned long long kThermalSoftware = 0x20;
constexpr unsigned long long kThermalHardware = 0x40;
constexpr unsigned long long kPowerBrake = 0x80;

}  // namespace

struct Nvml::Functions {
  void* library = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*device_by_bus)(const char*, void**) = nullptr;
  int (*clock)(void*, unsigned, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*throttle_reasons)(void*, unsigned long long*) = nullptr;
  int (*ecc_errors)(void*, int, int, unsigned long long*) = nullptr;
  int (*processes)(void*, unsigned*, void*) = nullptr;  // the infos themselves are never requested

  template <class F>
  void load(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(library, name));
  }
  ~Functions() {
    if (library != nullptr) ::dlclose(library);
  }
};

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Nvml::~Nvml() {
  functions_->shutdown();
}

std::unique_ptr<Nvml> Nvml::open(std::string& reason, const std::string& library) {
  auto f = std::make_unique<Functions>();
  f->library = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (f->library == nullptr) {
    const char* error = ::dlerror();
    reason = error != nullptr ? error : library + " cannot be loaded";
    return nullptr;
  }
  f->load(f->init, "nvmlInit_v2");
  f->load(f->shutdown, "nvmlShutdown");
  f->load(f->error_string, "nvmlErrorString");
  f->load(f->driver_version, "nvmlSystemGetDriverVersion");
  f->load(f->device_by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
  // Values that a driver does not offer are not sampled.
  f->load(f->clock, "nvmlDeviceGetClockInfo");
  f->load(f->power, "nvmlDeviceGetPowerUsage");
  f->load(f->temperature, "nvmlDeviceGetTemperature");
  f->load(f->throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  f->load(f->ecc_errors, "nvmlDeviceGetTotalEccErrors");
  f->load(f->processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  if (f->init == nullptr || f->shutdown == nullptr || f->error_string == nullptr || f->driver_version == nullptr ||
      f->device_by_bus == nullptr) {
    reason = library + " is not the NVML of a driver for CUDA 12";
    return nullptr;
  }
  if (const int code = f->init(); code != kSuccess) {
    reason = std::string("nvmlInit_v2: ") + f->error_string(code);
    return nullptr;
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(f)));
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  return functions_->driver_version(text.data(), static_cast<unsigned>(text.size())) == kSuccess ? text.data()
                                                                                                 : "unknown";
}

Nvml::Device Nvml::find(const std::string& pci_bus_id, std::string& reason) const {
  Device device = nullptr;
  if (const int code = functions_->device_by_bus(pci_bus_id.c_str(), &device); code != kSuccess) {
    reason = "nvmlDeviceGetHandleByPciBusId_v2(" + pci_bus_id + "): " + functions_->error_string(code);
    return nullptr;
  }
  return device;
}

spec::GpuSample Nvml::sample(Device device) const {
  const Functions& f = *functions_;
  spec::GpuSample out;
  unsigned value = 0;
  if (f.clock != nullptr && f.clock(device, kSmClock, &value) == kSuccess) out.sm_clock_mhz = value;
  if (f.clock != nullptr && f.clock(device, kMemoryClock, &value) == kSuccess) out.memory_clock_mhz = value;
  if (f.power != nullptr && f.power(device, &value) == kSuccess) out.power_w = value / 1000.0;
  if (f.temperature != nullptr && f.temperature(device, kGpuTemperature, &value) == kSuccess) {
    out.temperature_celsius = value;
  }
  unsigned long long wide = 0;
  if (f.throttle_reasons != nullptr && f.throttle_reasons(device, &wide) == kSuccess) {
    out.throttled_by_heat = (wide & (kThermalSoftware | kThermalHardware)) != 0;
    out.throttled_by_hardware = (wide & (kHardwareSlowdown | kPowerBrake)) != 0;
    out.throttled_by_power_cap = (wide & kPowerCap) != 0;
  }
  if (f.ecc_errors != nullptr && f.ecc_errors(device, kUncorrected, kSinceDriverLoad, &wide) == kSuccess) {
    out.ecc_errors = static_cast<std::int64_t>(wide);
  }
  if (f.processes != nullptr) {
    // With room for no process, the call returns how many there are, which is all that is needed.
    unsigned count = 0;
    const int code = f.processes(device, &count, nullptr);
    if (code == kSuccess || code == kInsufficientSize) out.processes = count;
  }
  return out;
}

}  // namespace perfbench::engine
