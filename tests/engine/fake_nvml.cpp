// A library with NVML's names, to be opened in its place.
#include "tests/engine/fake_nvml.h"

#include <cstdio>
#include <cstring>

namespace perfbench::engine {
namespace {

FakeNvmlAnswers answers;
int only_device = 0;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

}  // namespace

extern "C" {

FakeNvmlAnswers* fake_nvml_answers() {
  return &answers;
}
int nvmlInit_v2() {
  return answers.init_code;
}
int nvmlShutdown() {
  ++answers.shutdowns;
  return 0;
}
const char* nvmlErrorString(int code) {
  return code == kNotFound ? "Not Found" : "Driver Not Loaded";
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::snprintf(text, size, "580.65.06");
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  if (std::strcmp(bus, "0000:18:00.0") != 0) return kNotFound;
  *device = &only_device;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, unsigned kind, unsigned* mhz) {
  *mhz = kind == 1 ? answers.sm_clock_mhz : answers.memory_clock_mhz;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = answers.power_mw;
  return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* celsius) {
  *celsius = answers.temperature;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = answers.throttle_reasons;
  return 0;
}
int nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long* errors) {
  *errors = answers.ecc_errors;
  return answers.ecc_code;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void* infos) {
  const unsigned room = *count;
  *count = answers.processes;
  return infos == nullptr && room < answers.processes ? kInsufficientSize : 0;
}

}  // extern "C"

}  // namespace perfbench::engine
