// Computes the matrix products of a GPU with cuBLASLt, using the algorithm that was fastest when a problem was first
// met outside a recording (algorithm_cache.h). Nothing can be measured within a recording: a problem that is first met
// there gets the algorithm that the library guesses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/cuda/cuda_device.h"
#include "engine/ops/cuda/matmul/product.h"

namespace perfbench::engine::cuda {

// Device memory that a product may use while it runs. `bytes` is part of the problem, because it decides which
// algorithms fit.
struct ProductScratch {
  void* data = nullptr;
  std::int64_t bytes = 0;
};

class MatmulProvider {
 public:
  MatmulProvider(const CudaDevice& device, F32Products f32_products);
  ~MatmulProvider();
  MatmulProvider(const MatmulProvider&) = delete;
  MatmulProvider& operator=(const MatmulProvider&) = delete;

  // Whether the library has an algorithm that computes the product with its epilogue. If not, call run() without it.
  bool has_epilogue(const Product& product, const ProductScratch& scratch);
  // Runs on the device's compute stream. Throws EngineError with the problem if the library has no algorithm for it.
  void run(const Product& product, const ProductScratch& scratch);

  // Such as "13.1.0".
  static std::string version();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace perfbench::engine::cuda
