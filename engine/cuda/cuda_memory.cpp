#include "engine/cuda/cuda_memory.h"

#include <string>
#include <utility>

#include "engine/cuda/cuda_error.h"

namespace perfbench::engine {
namespace {

// Offsets are multiples of Arena::kAlignment; the bases of both allocators, and of NCCL's, are at least as aligned.
class Block {
 public:
  Block(void* base, std::int64_t bytes, const char* what) : base_(base), bytes_(bytes), what_(what) {}

  void* base() const { return base_; }
  void* at(std::int64_t offset, std::int64_t bytes) const {
    if (offset + bytes > bytes_) {
      throw LogicFault(std::string(what_) + ": the dry walk found " + std::to_string(bytes_) +
                       " bytes, the run needs " + std::to_string(offset + bytes));
    }
    return static_cast<char*>(base_) + offset;
  }

 private:
  void* base_;
  std::int64_t bytes_;
  const char* what_;
};

// Memory that is freed by the function that belongs to its allocation.
class CudaBacking final : public ArenaBacking {
 public:
  using Free = cudaError_t (*)(void*);
  CudaBacking(const Block& block, Free free) : block_(block), free_(free) {}
  ~CudaBacking() override { free_(block_.base()); }
  CudaBacking(const CudaBacking&) = delete;
  CudaBacking& operator=(const CudaBacking&) = delete;
  void* at(std::int64_t offset, std::int64_t bytes) override { return block_.at(offset, bytes); }

 private:
  Block block_;
  Free free_;
};

class SharedBacking final : public ArenaBacking {
 public:
  SharedBacking(std::shared_ptr<void> base, std::int64_t bytes)
      : base_(std::move(base)), block_(base_.get(), bytes, "device memory") {}
  void* at(std::int64_t offset, std::int64_t bytes) override { return block_.at(offset, bytes); }

 private:
  std::shared_ptr<void> base_;
  Block block_;
};

}  // namespace

std::unique_ptr<ArenaBacking> make_cuda_backing(std::shared_ptr<void> base, std::int64_t bytes) {
  return std::make_unique<SharedBacking>(std::move(base), bytes);
}

std::unique_ptr<ArenaBacking> make_cuda_backing(const CudaDevice& device, std::int64_t bytes) {
  void* base = nullptr;
  if (bytes > 0 && cudaMalloc(&base, static_cast<std::size_t>(bytes)) != cudaSuccess) {
    cudaGetLastError();
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
    throw OutOfMemory("out of memory: the run needs " + std::to_string(bytes) + " bytes on GPU " +
                      std::to_string(device.ordinal()) + " (" + device.properties().name + "), " +
                      std::to_string(free_bytes) + " of " + std::to_string(total_bytes) + " are free");
  }
  return std::make_unique<CudaBacking>(Block(base, bytes, "device memory"), cudaFree);
}

std::unique_ptr<ArenaBacking> make_cuda_host_backing(std::int64_t bytes) {
  void* base = nullptr;
  if (bytes > 0 && cudaMallocHost(&base, static_cast<std::size_t>(bytes)) != cudaSuccess) {
    cudaGetLastError();
    throw OutOfMemory("out of memory: cannot pin " + std::to_string(bytes) +
                      " bytes of host memory for offloaded values");
  }
  return std::make_unique<CudaBacking>(Block(base, bytes, "pinned host memory"), cudaFreeHost);
}

}  // namespace perfbench::engine
