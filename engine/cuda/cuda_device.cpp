#include "engine/cuda/cuda_device.h"

#include <array>
#include <string_view>

#include "engine/cuda/cuda_error.h"

namespace perfbench::engine {

CudaDevices find_cuda_devices() {
  CudaDevices found;
  const cudaError_t code = cudaGetDeviceCount(&found.count);
  if (code == cudaSuccess && found.count > 0) return found;
  found.count = 0;
  if (code == cudaErrorInsufficientDriver) {
    found.reason =
        "no NVIDIA driver is loaded, or it is older than CUDA " + cuda_toolkit_version() + " of this build needs";
  } else if (code == cudaSuccess || code == cudaErrorNoDevice) {
    found.reason = "the driver shows no GPU to this process (CUDA_VISIBLE_DEVICES hides them too)";
  } else {
    found.reason = std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code);
  }
  cudaGetLastError();  // clears the error, which has been reported
  return found;
}

std::string cuda_toolkit_version() {
  return std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
}

CudaDeviceFacts cuda_device_facts(int ordinal) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  return {properties.name, static_cast<std::int64_t>(properties.totalGlobalMem)};
}

std::string CudaDevice::pci_bus_id() const {
  std::array<char, 32> text{};
  cuda_check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), ordinal_), "cudaDeviceGetPCIBusId");
  return text.data();
}

std::string CudaDevice::uuid() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::string_view bytes(properties_.uuid.bytes, sizeof(properties_.uuid.bytes));
  if (bytes.find_first_not_of('\0') == std::string_view::npos) return "";
  std::string text = "GPU";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

std::int64_t ordinal_of_rank(std::int64_t rank_on_node) {
  return find_cuda_devices().count == 1 ? 0 : rank_on_node;
}

CudaDevice::CudaDevice(std::int64_t ordinal) : ordinal_(static_cast<int>(ordinal)) {
  const auto devices = find_cuda_devices();
  if (ordinal >= devices.count) {
    throw EngineError(EngineExit::infeasible,
                      "device cuda: GPU " + std::to_string(ordinal) + " was asked for, " +
                          (devices.count == 0 ? devices.reason
                                              : "this process sees " + std::to_string(devices.count) +
                                                    "; start one rank for each GPU of a node, or show each its own"));
  }
  select();
  cuda_check(cudaGetDeviceProperties(&properties_, ordinal_), "cudaGetDeviceProperties");
  compute_ = CudaStream(CudaPriority::least);
  communication_ = CudaStream(CudaPriority::greatest);
  copies_ = CudaStream(CudaPriority::greatest);
}

void CudaDevice::select() const {
  cuda_check(cudaSetDevice(ordinal_), "cudaSetDevice");
}

void CudaDevice::synchronize() const {
  for (const cudaStream_t stream : {copies(), communication(), compute()}) {
    cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
}

}  // namespace perfbench::engine
