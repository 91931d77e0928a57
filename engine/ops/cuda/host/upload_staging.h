// Pinned memory between pageable host memory and the device: the host fills one slot while the device reads another.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace perfbench::engine::cuda {

class UploadStaging {
 public:
  static constexpr std::int64_t kSlotBytes = std::int64_t{4} << 20;

  // Throws OutOfMemory if the host cannot pin the slots.
  UploadStaging();
  ~UploadStaging();
  UploadStaging(const UploadStaging&) = delete;
  UploadStaging& operator=(const UploadStaging&) = delete;

  // The caller may change or free `from` when this returns; `to` holds it when the stream gets there. Waits only until
  // the device is done with a slot.
  void upload(void* to, const void* from, std::int64_t bytes, cudaStream_t stream);

 private:
  struct Slot {
    void* memory = nullptr;
    cudaEvent_t read = nullptr;  // when the device is done with the slot
  };
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;
};

}  // namespace perfbench::engine::cuda
