#include "engine/ops/cuda/host/upload_staging.h"

#include <algorithm>
#include <cstring>

#include "engine/cuda/cuda_error.h"

namespace perfbench::engine::cuda {

UploadStaging::UploadStaging() {
  for (auto& slot : slots_) {
    cuda_check(cudaMallocHost(&slot.memory, static_cast<std::size_t>(kSlotBytes)), "cudaMallocHost");
    cuda_check(cudaEventCreateWithFlags(&slot.read, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
}

UploadStaging::~UploadStaging() {
  for (const auto& slot : slots_) {
    if (slot.read != nullptr) cudaEventSynchronize(slot.read);
    if (slot.read != nullptr) cudaEventDestroy(slot.read);
    cudaFreeHost(slot.memory);
  }
}

void UploadStaging::upload(void* to, const void* from, std::int64_t bytes, cudaStream_t stream) {
  for (std::int64_t first = 0; first < bytes; first += kSlotBytes) {
    const auto part = static_cast<std::size_t>(std::min(kSlotBytes, bytes - first));
    const Slot& slot = slots_[next_];
    next_ = (next_ + 1) % slots_.size();
    cuda_check(cudaEventSynchronize(slot.read), "cudaEventSynchronize");  // returns at once if it was never recorded
    std::memcpy(slot.memory, static_cast<const char*>(from) + first, part);
    cuda_check(cudaMemcpyAsync(static_cast<char*>(to) + first, slot.memory, part, cudaMemcpyHostToDevice, stream),
               "cudaMemcpyAsync");
    cuda_check(cudaEventRecord(slot.read, stream), "cudaEventRecord");
  }
}

}  // namespace perfbench::engine::cuda
