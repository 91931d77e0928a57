// Which algorithms are allowed. All of cuBLASLt's add up a product's terms in an order that the problem and the
// algorithm fix, except if several blocks divide k between them (split-K). The algorithm's
// CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME then says how their parts are combined. NONE and COMPUTE_TYPE are allowed:
// parts in f32 in the workspace, added in a separate step. INPLACE and OUTPUT_TYPE add bf16 numbers, and in place in
// the order in which blocks arrive; CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK excludes them.
#include "engine/ops/cuda/matmul/matmul_provider.h"

#include <cublasLt.h>

#include <cstddef>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include "engine/cuda/cuda_error.h"
#include "engine/cuda/cuda_event.h"
#include "engine/ops/cuda/matmul/algorithm_cache.h"

namespace perfbench::engine::cuda {
namespace {

constexpr int kCandidates = 8;
// Each candidate runs once unmeasured, then kSamples times kRunsPerSample times: the resolution of events is about half
// a microsecond.
constexpr int kSamples = 5;
constexpr int kRunsPerSample = 4;

void lt_check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw EngineError(EngineExit::failed, std::string(call) + " failed: " + cublasLtGetStatusName(status) + ", " +
                                            cublasLtGetStatusString(status));
}

// A handle of cuBLASLt, destroyed by its own function.
template <class Handle, cublasStatus_t (*Destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr) Destroy(handle_);
  }
  Handle get() const { return handle_; }
  Handle* out() { return &handle_; }

 private:
  Handle handle_ = nullptr;
};
using Library = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class T>
void describe(const Description& description, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  lt_check(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof(value)),
           "cublasLtMatmulDescSetAttribute");
}

template <class T>
void prefer(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  lt_check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
           "cublasLtMatmulPreferenceSetAttribute");
}

cudaDataType_t data_type(DType dtype) {
  if (dtype == DType::e4m3) return CUDA_R_8F_E4M3;
  if (dtype == DType::e5m2) return CUDA_R_8F_E5M2;
  return dtype == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasOperation_t operation(Transpose transpose) {
  return transpose == Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

// A problem in cuBLASLt's terms. a, b, m and n are those of by_columns().
struct Plan {
  Description description;
  Layout a;
  Layout b;
  Layout c;
  // Absent if the library has no algorithm for the epilogue.
  std::optional<cublasLtMatmulAlgo_t> algorithm;
  // The problem has only been met within recordings, where nothing can be measured: the library's guess is used until
  // the problem is met outside a recording.
  bool awaits_measuring = false;
};

cublasLtEpilogue_t epilogue_of(const Product& product) {
  const bool bias = product.bias_n != nullptr;
  switch (product.epilogue) {
    case Epilogue::none:
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Epilogue::gelu_tanh:
      return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case Epilogue::gelu_tanh_gradient:
      // Not DGELU_BGRAD: its sums for the bias have the result's type, and those of this engine are f32.
      return CUBLASLT_EPILOGUE_DGELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

// Sets the parts in which products with one key differ.
void describe_addresses(const Description& description, const Product& product) {
  if (product.bias_n != nullptr) describe(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product.bias_n);
  if (product.epilogue != Epilogue::none) {
    describe(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, product.preactivation);
  }
  // The factors of a product of 8-bit operands, which the device reads when it runs.
  if (product.inverse_scale_a != nullptr) {
    describe(description, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, product.inverse_scale_a);
    describe(description, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, product.inverse_scale_b);
  }
}

// `rows` and `columns` are those of the stored matrix; columns run in the direction of its stride.
Layout make_layout(const Matrix& matrix, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  Layout layout;
  lt_check(cublasLtMatrixLayoutCreate(layout.out(), data_type(matrix.dtype), static_cast<std::uint64_t>(rows),
                                      static_cast<std::uint64_t>(columns), matrix.row_stride),
           "cublasLtMatrixLayoutCreate");
  if (batch == 1) return layout;
  const auto count = static_cast<std::int32_t>(batch);
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    lt_check(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof(value)),
             "cublasLtMatrixLayoutSetAttribute");
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batch_stride);
  return layout;
}

Plan make_plan(const Product& product, F32Products f32_products) {
  Plan plan;
  const bool tf32 = product.a.dtype == DType::f32 && f32_products == F32Products::tf32;
  lt_check(cublasLtMatmulDescCreate(plan.description.out(), tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                    CUDA_R_32F),
           "cublasLtMatmulDescCreate");
  describe(plan.description, CUBLASLT_MATMUL_DESC_TRANSA, operation(product.transpose_a));
  describe(plan.description, CUBLASLT_MATMUL_DESC_TRANSB, operation(product.transpose_b));
  const auto result_type = static_cast<std::int32_t>(data_type(product.c.dtype));
  describe(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(product));
  if (product.bias_n != nullptr) describe(plan.description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, result_type);
  if (product.epilogue != Epilogue::none) {
    describe(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, product.c.row_stride);
    describe(plan.description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, result_type);
  }
  if (product.accumulation == Accumulation::fast) {
    describe(plan.description, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  }
  describe_addresses(plan.description, product);
  const bool ta = product.transpose_a == Transpose::yes;
  const bool tb = product.transpose_b == Transpose::yes;
  plan.a = make_layout(product.a, ta ? product.k : product.m, ta ? product.m : product.k, product.batch);
  plan.b = make_layout(product.b, tb ? product.n : product.k, tb ? product.k : product.n, product.batch);
  plan.c = make_layout(product.c, product.m, product.n, product.batch);
  return plan;
}

// The bytes from the first to the last element of the result.
std::int64_t result_bytes(const Product& by_rows) {
  return ((by_rows.batch - 1) * by_rows.c.batch_stride + (by_rows.m - 1) * by_rows.c.row_stride + by_rows.n) *
         size_bytes(by_rows.c.dtype);
}

// The contents of a result before a product.
enum class Held { nothing, sum };

// A result on which algorithms are tried. If the result holds nothing yet, its own memory is used, otherwise other
// memory of the device. If the device has no room for that, algorithms are tried on the sum itself, which is saved to
// host memory. So a nearly full card gets the same algorithms, and the same bits, as any other.
class TrialResult {
 public:
  TrialResult(const Product& by_rows, Held held, cudaStream_t stream)
      : by_rows_(by_rows), stream_(stream), data_(by_rows.c.data) {
    if (held == Held::nothing) return;
    if (cudaMalloc(&elsewhere_, static_cast<std::size_t>(result_bytes(by_rows))) == cudaSuccess) {
      data_ = elsewhere_;
      return;
    }
    cudaGetLastError();
    elsewhere_ = nullptr;
    saved_.resize(static_cast<std::size_t>(by_rows.batch * by_rows.m * row_bytes()));
    copy(cudaMemcpyDeviceToHost);
  }
  ~TrialResult() { cudaFree(elsewhere_); }
  TrialResult(const TrialResult&) = delete;
  TrialResult& operator=(const TrialResult&) = delete;
  void* data() const { return data_; }
  // Call it after the last trial.
  void restore() {
    if (!saved_.empty()) copy(cudaMemcpyHostToDevice);
  }

 private:
  std::int64_t row_bytes() const { return by_rows_.n * size_bytes(by_rows_.c.dtype); }

  // Copies only the rows: the memory between them may be in use.
  void copy(cudaMemcpyKind kind) {
    const auto width = static_cast<std::size_t>(row_bytes());
    const auto stride = static_cast<std::size_t>(by_rows_.c.row_stride * size_bytes(by_rows_.c.dtype));
    const auto rows = static_cast<std::size_t>(by_rows_.m);
    for (std::int64_t i = 0; i < by_rows_.batch; ++i) {
      auto* const there =
          static_cast<std::byte*>(by_rows_.c.data) + i * by_rows_.c.batch_stride * size_bytes(by_rows_.c.dtype);
      auto* const here = saved_.data() + static_cast<std::size_t>(i) * rows * width;
      const auto code = kind == cudaMemcpyDeviceToHost
                            ? cudaMemcpy2DAsync(here, width, there, stride, width, rows, kind, stream_)
                            : cudaMemcpy2DAsync(there, stride, here, width, width, rows, kind, stream_);
      cuda_check(code, "cudaMemcpy2DAsync");
    }
    cuda_check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  const Product& by_rows_;
  cudaStream_t stream_;
  void* data_;
  void* elsewhere_ = nullptr;
  std::vector<std::byte> saved_;
};

Algorithm bits_of(const cublasLtMatmulAlgo_t& algorithm) {
  Algorithm bits{};
  static_assert(sizeof(bits) == sizeof(algorithm.data));
  std::copy(std::begin(algorithm.data), std::end(algorithm.data), bits.begin());
  return bits;
}

cublasLtMatmulAlgo_t algorithm_of(const Algorithm& bits) {
  cublasLtMatmulAlgo_t algorithm{};
  std::copy(bits.begin(), bits.end(), std::begin(algorithm.data));
  return algorithm;
}

AlgorithmScope scope_of(const CudaDevice& device) {
  // The kernel module's own version; if that is hidden (in containers), the version of CUDA that the driver offers.
  std::string driver;
  if (std::ifstream file("/sys/module/nvidia/version"); !(file >> driver)) {
    int version = 0;
    cuda_check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
    driver = "cuda-" + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  return {device.properties().name, driver, "cublasLt " + MatmulProvider::version()};
}

}  // namespace

class MatmulProvider::Implementation {
 public:
  Implementation(const CudaDevice& device, F32Products f32_products)
      : stream_(device.compute()), f32_products_(f32_products), cache_(cache_folder(), scope_of(device), std::cerr) {
    lt_check(cublasLtCreate(library_.out()), "cublasLtCreate");
  }

  void run(const Product& by_rows, const ProductScratch& scratch) {
    if (by_rows.m == 0 || by_rows.n == 0 || by_rows.batch == 0) return;
    if (by_rows.additions == Additions::follow) plan_addition(by_rows, scratch);
    const ProductKey key = key_of(by_rows, f32_products_, scratch.bytes);
    const Plan& plan = plan_of(key, by_rows, scratch, held_by(by_rows));
    if (!plan.algorithm) fail(key, "cublasLtMatmulAlgoGetHeuristic", CUBLAS_STATUS_NOT_SUPPORTED);
    const Product product = by_columns(by_rows);
    describe_addresses(plan.description, product);
    const cublasStatus_t status = compute(plan, product, *plan.algorithm, product.c.data, scratch);
    if (status != CUBLAS_STATUS_SUCCESS) fail(key, "cublasLtMatmul", status);
  }

  bool has_epilogue(const Product& by_rows, const ProductScratch& scratch) {
    const ProductKey key = key_of(by_rows, f32_products_, scratch.bytes);
    return plan_of(key, by_rows, scratch, held_by(by_rows)).algorithm.has_value();
  }

 private:
  static Held held_by(const Product& by_rows) { return by_rows.write == Write::overwrite ? Held::nothing : Held::sum; }

  const Plan& plan_of(const ProductKey& key, const Product& by_rows, const ProductScratch& scratch, Held held) {
    auto found = plans_.find(key);
    if (found == plans_.end()) {
      Plan plan = make_plan(by_columns(by_rows), f32_products_);
      choose(plan, key, by_rows, scratch, held);
      found = plans_.emplace(key, std::move(plan)).first;
    } else if (found->second.awaits_measuring && !is_captured(stream_)) {
      choose(found->second, key, by_rows, scratch, held);
    }
    return found->second;
  }

  // Plans the same product added to its result, before that holds anything: otherwise the addition itself may first be
  // met in a recording of later microbatches.
  void plan_addition(const Product& by_rows, const ProductScratch& scratch) {
    Product addition = by_rows;
    addition.write = Write::accumulate;
    plan_of(key_of(addition, f32_products_, scratch.bytes), addition, scratch, Held::nothing);
  }

  [[noreturn]] static void fail(const ProductKey& key, const char* call, cublasStatus_t status) {
    throw EngineError(EngineExit::failed, "matmul " + to_text(key) + ": " + call + " failed: " +
                                              cublasLtGetStatusName(status) + ", " + cublasLtGetStatusString(status));
  }

  cublasStatus_t compute(const Plan& plan, const Product& product, const cublasLtMatmulAlgo_t& algorithm, void* c,
                         const ProductScratch& scratch) const {
    const float beta = product.write == Write::accumulate ? 1.0F : 0.0F;
    return cublasLtMatmul(library_.get(), plan.description.get(), &product.factor, product.a.data, plan.a.get(),
                          product.b.data, plan.b.get(), &beta, c, plan.c.get(), c, plan.c.get(), &algorithm,
                          scratch.data, static_cast<std::size_t>(scratch.bytes), stream_);
  }

  // Best first, by the library's guess. Empty if it has none.
  std::vector<cublasLtMatmulAlgo_t> candidates(const ProductKey& key, const Plan& plan) const {
    Preference preference;
    lt_check(cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate");
    prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(key.workspace_bytes));
    prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    // The library's a is our b.
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(key.b.alignment_bytes));
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(key.a.alignment_bytes));
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(key.c.alignment_bytes));
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(key.c.alignment_bytes));
    std::vector<cublasLtMatmulHeuristicResult_t> results(kCandidates);
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(library_.get(), plan.description.get(), plan.a.get(), plan.b.get(), plan.c.get(),
                                       plan.c.get(), preference.get(), kCandidates, results.data(), &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
    if (status != CUBLAS_STATUS_SUCCESS) fail(key, "cublasLtMatmulAlgoGetHeuristic", status);
    std::vector<cublasLtMatmulAlgo_t> usable;
    for (const auto& result : std::span(results).first(static_cast<std::size_t>(count))) {
      if (result.state == CUBLAS_STATUS_SUCCESS) usable.push_back(result.algo);
    }
    return usable;
  }

  bool fits(const Plan& plan, const cublasLtMatmulAlgo_t& algorithm, const ProductKey& key) const {
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status =
        cublasLtMatmulAlgoCheck(library_.get(), plan.description.get(), plan.a.get(), plan.b.get(), plan.c.get(),
                                plan.c.get(), &algorithm, &result);
    return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= static_cast<std::size_t>(key.workspace_bytes);
  }

  // A measured choice is kept for every run. Without a measurement it is the library's guess, which is the same in
  // every process and is not kept.
  void choose(Plan& plan, const ProductKey& key, const Product& by_rows, const ProductScratch& scratch, Held held) {
    plan.awaits_measuring = false;
    const std::string problem = to_text(key);
    if (const auto kept = cache_.find(problem); kept.has_value()) {
      plan.algorithm = algorithm_of(kept->algorithm);
      if (fits(plan, *plan.algorithm, key)) return;
    }
    const auto possible = candidates(key, plan);
    plan.algorithm = possible.empty() ? std::nullopt : std::optional(possible.front());
    if (possible.size() < 2) return;
    plan.awaits_measuring = is_captured(stream_);
    if (plan.awaits_measuring) return;
    const auto timed = measure(possible, plan, by_rows, scratch, held);
    if (timed.empty()) return;
    const ChosenAlgorithm chosen = fastest(timed);
    const auto settled = algorithm_of(cache_.settle(problem, chosen).algorithm);
    plan.algorithm = fits(plan, settled, key) ? settled : algorithm_of(chosen.algorithm);
  }

  std::vector<TimedAlgorithm> measure(const std::vector<cublasLtMatmulAlgo_t>& possible, const Plan& plan,
                                      const Product& by_rows, const ProductScratch& scratch, Held held) const {
    TrialResult trial(by_rows, held, stream_);
    const Product product = by_columns(by_rows);
    describe_addresses(plan.description, product);
    CudaEvent begin(cudaEventDefault);
    CudaEvent end(cudaEventDefault);
    std::vector<TimedAlgorithm> timed;
    for (const auto& algorithm : possible) {
      if (compute(plan, product, algorithm, trial.data(), scratch) != CUBLAS_STATUS_SUCCESS) continue;
      TimedAlgorithm candidate{bits_of(algorithm), {}};
      for (int sample = 0; sample < kSamples; ++sample) {
        begin.record(stream_);
        for (int i = 0; i < kRunsPerSample; ++i) {
          lt_check(compute(plan, product, algorithm, trial.data(), scratch), "cublasLtMatmul");
        }
        end.record(stream_);
        cuda_check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
        float milliseconds = 0;
        cuda_check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
        candidate.times_ns.push_back(static_cast<double>(milliseconds) * 1e6 / kRunsPerSample);
      }
      timed.push_back(std::move(candidate));
    }
    trial.restore();
    return timed;
  }

  cudaStream_t stream_;
  F32Products f32_products_;
  Library library_;
  AlgorithmCache cache_;
  std::map<ProductKey, Plan> plans_;
};

MatmulProvider::MatmulProvider(const CudaDevice& device, F32Products f32_products)
    : implementation_(std::make_unique<Implementation>(device, f32_products)) {}

MatmulProvider::~MatmulProvider() = default;

void MatmulProvider::run(const Product& product, const ProductScratch& scratch) {
  implementation_->run(product, scratch);
}

bool MatmulProvider::has_epilogue(const Product& product, const ProductScratch& scratch) {
  return implementation_->has_epilogue(product, scratch);
}

std::string MatmulProvider::version() {
  const auto version = cublasLtGetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace perfbench::engine::cuda
