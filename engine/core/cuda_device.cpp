#include "engine/core/cuda_device.h"

#include "engine/core/cuda_error.h"

namespace perfbench::engine {

CudaDevices find_cuda_devices() {
  CudaDevices found;
  const cudaError_t code = cudaGetDeviceCount(&found.count);
  if (code == cudaSuccess && found.count > 0) return found;
  found.count = 0;
  if (code == cudaErrorInsufficientDriver) {
    int runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    found.reason = "no NVIDIA driver is loaded, or it is older than CUDA " + std::to_string(runtime / 1000) + "." +
                   std::to_string(runtime % 1000 / 10) + " of this build needs";
  } else if (code == cudaSuccess || code == cudaErrorNoDevice) {
    found.reason = "the driver shows no GPU to this process (CUDA_VISIBLE_DEVICES hides them too)";
  } else {
    found.reason = std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code);
  }
  cudaGetLastError();  // the error has been reported; later checks start anew
  return found;
}

CudaDevice::CudaDevice(int ordinal) : ordinal_(ordinal) {
  const auto devices = find_cuda_devices();
  if (ordinal >= devices.count) {
    throw EngineError(EngineExit::infeasible,
                      "device cuda: GPU " + std::to_string(ordinal) + " was asked for, " +
                          (devices.count == 0 ? devices.reason
                                              : "this process sees " + std::to_string(devices.count) +
                                                    "; start one rank for each GPU of a node"));
  }
  cuda_check(cudaSetDevice(ordinal), "cudaSetDevice");
  cuda_check(cudaGetDeviceProperties(&properties_, ordinal), "cudaGetDeviceProperties");
  int least = 0;
  int greatest = 0;
  cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  cuda_check(cudaStreamCreateWithPriority(&compute_, cudaStreamNonBlocking, least), "cudaStreamCreateWithPriority");
  // What others wait for gets free multiprocessors first.
  cuda_check(cudaStreamCreateWithPriority(&communication_, cudaStreamNonBlocking, greatest),
             "cudaStreamCreateWithPriority");
  cuda_check(cudaStreamCreateWithPriority(&copies_, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
}

CudaDevice::~CudaDevice() {
  for (cudaStream_t stream : {compute_, communication_, copies_}) {
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
}

void CudaDevice::synchronize() const {
  for (cudaStream_t stream : {copies_, communication_, compute_}) {
    cuda_check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
}

}  // namespace perfbench::engine
